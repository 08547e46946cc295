"""Objectives as people write them in science and engineering."""
import configparser
import functools
import logging
import math
import time
import warnings
from collections import defaultdict, namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg, special, stats

logger = logging.getLogger(__name__)

def timed(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        result = func(*args, **kwargs)
        logger.debug("%s took %.3f ms", func.__name__, 1e3 * (time.perf_counter() - start))
        return result
    return wrapper

def require_positive(*keys):
    def decorate(func):
        @functools.wraps(func)
        def inner(params, *args, **kwargs):
            for key in keys:
                if np.any(params[key] <= 0):
                    raise ValueError(f"{key!r} must be positive")
            return func(params, *args, **kwargs)
        return inner
    return decorate

class NBodySystem:
    G = 1.0
    def __init__(self, masses, softening=0.05):
        self.m = np.asarray(masses, dtype=float)
        self.eps2 = softening ** 2
    def acceleration(self, x):
        d = x[None, :, :] - x[:, None, :]
        r2 = (d ** 2).sum(axis=-1) + self.eps2
        inv3 = r2 ** -1.5
        np.fill_diagonal(inv3, 0.0)
        return self.G * np.einsum("ij,ijk,j->ik", inv3, d, self.m)
    def potential(self, x):
        i, j = np.triu_indices(len(self.m), k=1)
        r = np.sqrt(np.sum((x[i] - x[j]) ** 2, axis=1) + self.eps2)
        return -self.G * np.sum(self.m[i] * self.m[j] / r)
    def evolve(self, x, v, dt, steps):
        """Kick-drift-kick; yields (x, v) after each step."""
        a = self.acceleration(x)
        for _ in range(steps):
            v += 0.5 * dt * a
            x += dt * v
            a = self.acceleration(x)
            v += 0.5 * dt * a
            yield x, v
def nbody_virial(state, system, dt=0.01, steps=12):
    x, v = state[0].copy(), state[1].copy()
    ratios = []
    for xs, vs in system.evolve(x, v, dt, steps):
        kinetic = 0.5 * np.sum(system.m[:, None] * vs ** 2)
        ratios.append(2.0 * kinetic / abs(system.potential(xs)))
    com = system.m @ x / system.m.sum()
    spread = np.linalg.norm(x - com, axis=1)
    return float(np.mean(ratios) + 0.1 * np.average(spread, weights=system.m))

def rk4_step(f, t, y, h, *args):
    k1 = f(t, y, *args)
    k2 = f(t + h / 2, [a + h / 2 * b for a, b in zip(y, k1)], *args)
    k3 = f(t + h / 2, [a + h / 2 * b for a, b in zip(y, k2)], *args)
    k4 = f(t + h, [a + h * b for a, b in zip(y, k3)], *args)
    return [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4)]
def double_pendulum_rhs(t, y, l1, l2, m1, m2, g=9.81):
    th1, th2, w1, w2 = y
    delta = th1 - th2
    s, c = math.sin(delta), math.cos(delta)
    den = 2 * m1 + m2 - m2 * math.cos(2 * delta)
    a1 = (-g * (2 * m1 + m2) * math.sin(th1) - m2 * g * math.sin(th1 - 2 * th2)
          - 2 * s * m2 * (w2 ** 2 * l2 + w1 ** 2 * l1 * c)) / (l1 * den)
    a2 = (2 * s * (w1 ** 2 * l1 * (m1 + m2) + g * (m1 + m2) * math.cos(th1) + w2 ** 2 * l2 * m2 * c)) / (l2 * den)
    return w1, w2, a1, a2
def pendulum_tip_error(params, target, h=0.02):
    """Mean square distance of the tip from a measured track."""
    l1, l2 = params["length"]
    y = [*params["theta"], *params["omega"]]
    history = []
    for n in range(len(target)):
        y = rk4_step(double_pendulum_rhs, n * h, y, h, l1, l2, *params["mass"])
        x_tip = l1 * math.sin(y[0]) + l2 * math.sin(y[1])
        y_tip = -l1 * math.cos(y[0]) - l2 * math.cos(y[1])
        history.append((x_tip, y_tip))
    return float(np.mean((np.array(history) - target) ** 2))

LVParams = namedtuple("LVParams", ["rates", "start"])
def lotka_volterra_misfit(p, t_obs, obs, tol=2e-3, h=0.05, sigma=0.3):
    alpha, beta, gamma, delta = p.rates
    def rhs(z):
        prey, pred = z
        return np.array([alpha * prey - beta * prey * pred, delta * prey * pred - gamma * pred])
    t, z = 0.0, p.start
    times, states, rejected = [t], [z], 0
    while t < t_obs[-1]:
        k1 = rhs(z)
        k2 = rhs(z + h * k1)
        err = np.max(np.abs(0.5 * h * (k2 - k1)) / (1.0 + np.abs(z)))
        if err > tol:
            rejected += 1
            h *= max(0.2, 0.9 * math.sqrt(tol / err))
            continue
        z = z + 0.5 * h * (k1 + k2)
        t += h
        times.append(t)
        states.append(z)
        h = min(h * min(2.0, 0.9 * np.sqrt(tol / (err + 1e-12))), 0.5)
    logger.debug("accepted %d, rejected %d", len(times) - 1, rejected)
    states = np.array(states)
    fit = np.column_stack([np.interp(t_obs, times, states[:, k]) for k in range(2)])
    return 0.5 * np.sum(((np.log(fit) - np.log(obs)) / sigma) ** 2)

@dataclass(frozen=True)
class Rod:
    conductivity: np.ndarray
    initial: np.ndarray
    source: np.ndarray = field(default_factory=lambda: np.zeros(1))
    @property
    def face_k(self):
        k = self.conductivity
        return 2.0 * k[:-1] * k[1:] / (k[:-1] + k[1:])
def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = dp
    for i in reversed(range(n - 1)):
        x[i] -= cp[i] * x[i + 1]
    return x
@timed
def heat_rod_misfit(rod, measured, dt=0.4, steps=6):
    T = rod.initial.copy()
    west = np.concatenate(([0.0], rod.face_k))
    east = np.append(rod.face_k, 0.0)
    lower, upper = -0.5 * dt * west, -0.5 * dt * east
    main = 1.0 - lower - upper
    misfit = 0.0
    for step in range(steps):
        flux = np.zeros_like(T)
        flux[1:] += west[1:] * (T[:-1] - T[1:])
        flux[:-1] += east[:-1] * (T[1:] - T[:-1])
        T = thomas(lower, main, upper, T + 0.5 * dt * flux + dt * rod.source)
        misfit += np.sum((T[::4] - measured[step]) ** 2)
    return misfit / measured.size

def burgers_final_gradient(u0, nu=0.02, length=2 * np.pi, nt=25, cfl=0.4):
    u = np.array(u0, dtype=float)
    dx = length / u.size
    dt = cfl * min(dx / 3.0, 0.5 * dx ** 2 / nu)
    dissipation = 0.0
    for _ in range(nt):
        left, right = np.roll(u, 1), np.roll(u, -1)
        dudx = np.where(u > 0, u - left, right - u) / dx
        lap = (left - 2 * u + right) / dx ** 2
        u[:] = u - dt * u * dudx + dt * nu * lap
        dissipation += dt * nu * np.sum(dudx ** 2) * dx
    return 0.5 * np.sum(u * u) * dx + dissipation

class PoissonSolver:
    def __init__(self, shape, h=0.1, tol=1e-3, max_iter=70):
        self.shape, self.h, self.tol, self.max_iter = shape, h, tol, max_iter
        self.iterations = 0
    def sweep(self, phi, rho):
        new = phi.copy()
        new[1:-1, 1:-1] = 0.25 * (phi[2:, 1:-1] + phi[:-2, 1:-1] + phi[1:-1, 2:]
                                  + phi[1:-1, :-2] + self.h ** 2 * rho[1:-1, 1:-1])
        return new
    def solve(self, rho, top=1.0):
        phi = np.zeros(self.shape)
        phi[0, :] = top
        self.iterations = 0
        while True:
            new = self.sweep(phi, rho)
            self.iterations += 1
            if (change := np.max(np.abs(new - phi))) < self.tol:
                return new
            if self.iterations >= self.max_iter:
                logger.info("Jacobi stopped at change %.2e", change)
                return new
            phi = new
def poisson_field_energy(rho, solver):
    phi = solver.solve(rho)
    ey, ex = np.gradient(phi, solver.h)
    return 0.5 * np.mean(ex ** 2 + ey ** 2) - np.mean(rho * phi)

class Truss:
    def __init__(self, nodes, bars, supports, E=210.0):
        self.nodes, self.bars, self.E = nodes, bars, E
        fixed = {2 * n + k for n, k in supports}
        self.free = np.array([d for d in range(2 * len(nodes)) if d not in fixed])
    @staticmethod
    def bar_direction(p, q):
        d = q - p
        length = math.hypot(*d)
        return d / length, length
    def assemble(self, areas):
        ndof = 2 * len(self.nodes)
        K = np.zeros((ndof, ndof))
        for (i, j), area in zip(self.bars, areas):
            (c, s), length = self.bar_direction(self.nodes[i], self.nodes[j])
            b = np.array([-c, -s, c, s])
            dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
            K[np.ix_(dofs, dofs)] += self.E * area / length * np.outer(b, b)
        return K
    def displacements(self, areas, load):
        K = self.assemble(areas)
        u = np.zeros_like(load)
        u[self.free] = np.linalg.solve(K[np.ix_(self.free, self.free)], load[self.free])
        return u
def truss_compliance(areas, truss, load, price=0.02, sigma_max=5.0):
    assert len(areas) == len(truss.bars), "one area for each bar"
    u = truss.displacements(areas, load)
    weight, stress_penalty = 0.0, 0.0
    for k, (i, j) in enumerate(truss.bars):
        e, length = truss.bar_direction(truss.nodes[i], truss.nodes[j])
        sigma = truss.E * e.dot(u[2 * j:2 * j + 2] - u[2 * i:2 * i + 2]) / length
        stress_penalty += (sigma / sigma_max) ** 4
        weight += areas[k] * length
    return load @ u + price * weight + 1e-2 * stress_penalty

KFParams = namedtuple("KFParams", "log_q log_r x0")
def kalman_nll(params, ys, dt=0.5):
    F = np.eye(2)
    F[0, 1] = dt
    H = np.array([[1.0, 0.0], [1.0, 0.5]])
    Q = np.exp(params.log_q) * np.array([[dt ** 3 / 3, dt ** 2 / 2], [dt ** 2 / 2, dt]])
    R = np.diag(np.exp(params.log_r))
    x, P = params.x0, np.eye(2)
    nll = 0.0
    for y in ys:
        x, P = F @ x, F @ P @ F.T + Q
        if np.isnan(y).any():
            continue
        S = H @ P @ H.T + R
        innov = y - H @ x
        K = np.linalg.solve(S, H @ P).T
        sign, logdet = np.linalg.slogdet(S)
        if sign <= 0:
            return np.inf
        nll += 0.5 * (innov @ np.linalg.solve(S, innov) + logdet + 2 * math.log(2 * math.pi))
        x = x + K @ innov
        P = (np.eye(2) - K @ H) @ P
    return nll

def de_casteljau(points, t):
    if len(points) == 1:
        return points[0]
    return de_casteljau([(1 - t) * p + t * q for p, q in zip(points, points[1:])], t)
def bezier_path_cost(waypoints, start, goal, obstacles, n=14, **options):
    weights = {"length": 1.0, "smooth": 0.3, "clear": 2.0, **options}
    points = [start, *waypoints, goal]
    path = np.array([de_casteljau(points, t) for t in np.linspace(0.0, 1.0, n)])
    seg = np.diff(path, axis=0)
    curvature = np.diff(path, n=2, axis=0)
    terms = {
        "length": np.linalg.norm(seg, axis=1).sum(),
        "smooth": (n - 1) ** 2 * np.sum(curvature ** 2),
        "clear": sum(np.exp(-((path - c) ** 2).sum(axis=1) / r ** 2).sum() for *c, r in obstacles),
    }
    return sum(weights[name] * value for name, value in terms.items())

class RobotArm:
    def __init__(self, dh_table):
        self.dh = dh_table
        self._q = np.zeros(len(dh_table))
    @property
    def q(self):
        return self._q
    @q.setter
    def q(self, value):
        if len(value) != len(self.dh):
            raise ValueError("wrong number of joints")
        self._q = value
    @staticmethod
    def link(theta, d, a, alpha):
        ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0.0, sa, ca, d],
                         [0.0, 0.0, 0.0, 1.0]])
    def frames(self):
        T = np.eye(4)
        out = [T]
        for theta, row in zip(self.q, self.dh):
            T = T @ self.link(theta + row["offset"], row["d"], row["a"], row["alpha"])
            out.append(T)
        return out
    def jacobian(self):
        *inner, tool = self.frames()
        cols = [np.cross(T[:3, 2], tool[:3, 3] - T[:3, 3]) for T in inner]
        return np.stack(cols, axis=1)
def robot_reach_cost(q, arm, target, approach=(0.0, 0.0, -1.0)):
    arm.q = q
    tool = arm.frames()[-1]
    J = arm.jacobian()
    manipulability = np.sqrt(np.linalg.det(J @ J.T))
    position_error = np.linalg.norm(tool[:3, 3] - target)
    return position_error + 0.2 * (1 - tool[:3, 2] @ approach) - 0.05 * np.log(manipulability)

class Vector:
    __slots__ = ("x", "y", "z")
    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z
    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y, self.z + o.z)
    def __sub__(self, o):
        return Vector(self.x - o.x, self.y - o.y, self.z - o.z)
    def __mul__(self, k):
        return Vector(self.x * k, self.y * k, self.z * k)
    __rmul__ = __mul__
    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z
def refract(d, n, ratio):
    cos_i = -(d @ n)
    k = 1 - ratio ** 2 * (1 - cos_i ** 2)
    if k < 0:
        warnings.warn("total internal reflection")
        return d
    return ratio * d + (ratio * cos_i - math.sqrt(k)) * n
def lens_spot_size(lens, indices, heights, field_angle=0.02, back_focus=9.5):
    hits = []
    for h in heights:
        p, d = Vector(0.3 * h, h, -1.0), Vector(0.0, math.sin(field_angle), math.cos(field_angle))
        z0 = 0.0
        for i, curv in enumerate(lens["curvature"]):
            radius = 1.0 / curv
            oc = p - Vector(0.0, 0.0, z0 + radius)
            b, c = oc @ d, oc @ oc - radius ** 2
            root = math.sqrt(b * b - c)
            p = p + (-b - root if radius > 0 else -b + root) * d
            normal = (p - Vector(0.0, 0.0, z0 + radius)) * (1.0 / radius)
            d = refract(d, normal, indices[i] / indices[i + 1])
            z0 += lens["thickness"][i]
        s = (z0 + back_focus - p.z) / d.z
        hits.append([p.x + s * d.x, p.y + s * d.y])
    hits = np.asarray(hits)
    return float(np.sqrt(((hits - hits.mean(axis=0)) ** 2).sum(axis=1).mean()))

def antenna_sidelobe_level(excitation, theta, look, spacing=0.5, beamwidth=0.25, sharpness=8.0):
    assert excitation.shape[-1] == 2, "columns are amplitude and phase"
    amp, phase = excitation.T
    weights = amp * np.exp(1j * phase)
    n = np.arange(len(weights))
    steering = np.exp(2j * np.pi * spacing * np.outer(np.sin(theta), n))
    pattern = np.abs(steering @ weights) ** 2
    main = np.abs(np.exp(2j * np.pi * spacing * np.sin(look) * n) @ weights) ** 2
    with np.errstate(divide="ignore"):
        rel_db = 10 * np.log10(pattern / main + 1e-6)
    outside = np.abs(theta - look) > beamwidth
    peak = special.logsumexp(rel_db[outside] / sharpness) * sharpness
    return peak + 0.1 * np.vdot(weights, weights).real

PRICERS = {}
def pricer(kind):
    def register(func):
        PRICERS[kind] = func
        return func
    return register
def d_plus_minus(s, k, r, vol, t):
    srt = vol * np.sqrt(t)
    d1 = (np.log(s / k) + (r + 0.5 * vol ** 2) * t) / srt
    return d1, d1 - srt
@pricer("call")
def price_call(s, k, r, vol, t):
    d1, d2 = d_plus_minus(s, k, r, vol, t)
    return s * special.ndtr(d1) - k * np.exp(-r * t) * special.ndtr(d2)
@pricer("put")
def price_put(s, k, r, vol, t):
    return price_call(s, k, r, vol, t) - s + k * np.exp(-r * t)
@pricer("digital")
def price_digital(s, k, r, vol, t, payout=10.0):
    return payout * np.exp(-r * t) * special.ndtr(d_plus_minus(s, k, r, vol, t)[1])
@require_positive("spot", "vol")
def option_book_variance(market, positions, shocks):
    """Variance of the book's profit over spot scenarios plus its carried value."""
    base, pnl = 0.0, np.zeros(len(shocks))
    for asset, kind, strike, expiry, quantity in positions:
        func = PRICERS.get(kind)
        if func is None:
            raise KeyError(f"no pricer for {kind}")
        price = functools.partial(func, k=strike, r=market["rate"][0], vol=market["vol"][asset], t=expiry)
        value = price(market["spot"][asset])
        base += quantity * value
        pnl += quantity * (price(market["spot"][asset] * (1 + shocks)) - value)
    return np.var(pnl) / 100.0 + 0.01 * base

BONDS = """
# coupon maturity  price  freq
  2.00    1.5     99.10    2
  2.75    3.0     99.60    2
  3.50    5.0    101.20    1
  4.00    9.5    102.70    2   # long
  4.25   15.0    101.90    1
"""
def parse_bonds(text):
    for line in text.splitlines():
        line, _, _ = line.partition("#")
        if not line.strip():
            continue
        coupon, maturity, price, freq = line.split()
        yield float(coupon), float(maturity), float(price), int(freq)
def svensson(t, b0, b1, b2, b3, tau1, tau2):
    x1, x2 = t / tau1, t / tau2
    load1, load2 = -np.expm1(-x1) / x1, -np.expm1(-x2) / x2
    return b0 + b1 * load1 + b2 * (load1 - np.exp(-x1)) + b3 * (load2 - np.exp(-x2))
def yield_curve_error(theta, text=BONDS):
    *betas, log_tau1, log_tau2 = theta
    curve = functools.partial(svensson, b0=betas[0], b1=betas[1], b2=betas[2], b3=betas[3],
                              tau1=math.exp(log_tau1), tau2=math.exp(log_tau2))
    sse = 0.0
    for coupon, maturity, quoted, freq in parse_bonds(text):
        t = np.arange(maturity, 0.0, -1.0 / freq)[::-1]
        flows = np.full(t.shape, coupon / freq)
        flows[-1] += 100.0
        discount = np.exp(-curve(t) * t)
        model = flows @ discount
        duration = (flows * t * discount).sum() / model
        sse += ((model - quoted) / duration) ** 2
    return sse

def implied_vol(price, s, k, t, guess=0.3, tol=1e-10, callback=None):
    vol, step = guess, 0
    while step < 30:
        d1 = (math.log(s / k) + 0.5 * vol ** 2 * t) / (vol * math.sqrt(t))
        d2 = d1 - vol * math.sqrt(t)
        diff = s * special.ndtr(d1) - k * special.ndtr(d2) - price
        vega = s * math.sqrt(t) * math.exp(-0.5 * d1 ** 2) / math.sqrt(2 * math.pi)
        vol = vol - diff / vega
        step += 1
        if callback is not None:
            callback(step, vol)
        if abs(diff) < tol:
            break
    return vol
def smile_roughness(prices, strikes, spot=100.0, expiry=0.75):
    counter = defaultdict(int)
    def count(step, state):
        counter[step] += 1
    vols = np.array([implied_vol(p, spot, k, expiry, callback=count) for p, k in zip(prices, strikes)])
    m = np.log(strikes / spot)
    design = np.vander(m, 3)
    coef, *_ = np.linalg.lstsq(design, vols, rcond=None)
    resid = vols - design @ coef
    logger.debug("most Newton steps: %d", max(counter))
    return 1e3 * resid @ resid + coef[-1]

REACTIONS = [
    {"in": {"A": 1}, "out": {"B": 1}},
    {"in": {"B": 2}, "out": {"B": 1, "C": 1}},
    {"in": {"B": 1, "C": 1}, "out": {"A": 1, "C": 1}},
    {"in": {"C": 1}, "out": {"D": 1}},
]
SPECIES = {name: i for i, name in enumerate("ABCD")}
R_GAS = 8.314462618e-3
def kinetics_yield(arrhenius, c0, temperature=350.0, dt=0.25, steps=6):
    log_a, ea = arrhenius
    k = np.exp(log_a - ea / (R_GAS * temperature) + ea / (R_GAS * 300.0))
    stoich = np.zeros((len(SPECIES), len(REACTIONS)))
    for r, reaction in enumerate(REACTIONS):
        for sign, side in ((-1, "in"), (1, "out")):
            for name, nu in reaction[side].items():
                stoich[SPECIES[name], r] += sign * nu
    def rates_and_jac(c):
        rate, jac = k.copy(), np.zeros((len(k), len(c)))
        for r, reaction in enumerate(REACTIONS):
            for name, nu in reaction["in"].items():
                rate[r] *= c[SPECIES[name]] ** nu
            for name, nu in reaction["in"].items():
                jac[r, SPECIES[name]] = nu * rate[r] / c[SPECIES[name]]
        return rate, jac
    c = c0.copy()
    for _ in range(steps):
        old = c
        for _newton in range(8):
            rate, jac = rates_and_jac(c)
            residual = c - old - dt * stoich @ rate
            delta = np.linalg.solve(np.eye(len(c)) - dt * stoich @ jac, -residual)
            c = c + delta
            if np.abs(delta).max() < 1e-9:
                break
    return -c[SPECIES["C"]] + 0.1 * float(c[SPECIES["A"]]) ** 2

class Mixture:
    """Ideal gas mixture: reduced Gibbs energies and total element amounts."""
    def __init__(self, g0, totals):
        self.g0, self.totals = g0, totals
    def amounts(self, lam, formula):
        return np.exp(formula.T @ lam - self.g0)
def equilibrium_entropy(mix, formula, callback=None, tol=1e-11):
    lam = np.zeros(formula.shape[0])
    for it in range(60):
        n = mix.amounts(lam, formula)
        gap = formula @ n - mix.totals
        J = (formula * n) @ formula.T
        step = np.linalg.solve(J, -gap)
        biggest = np.abs(step).max()
        if biggest > 1.0:
            step = step / biggest
        lam = lam + step
        if callback:
            callback(it, lam)
        if biggest < tol:
            break
    else:
        raise RuntimeError("equilibrium did not converge")
    n = mix.amounts(lam, formula)
    x = n / n.sum()
    return -(special.xlogy(x, x)).sum() + 0.05 * n.sum()

class StepCounter:
    def __init__(self):
        self.calls = 0
    def __call__(self, step, state):
        self.calls = step + 1
def lj_energy_and_force(pos, box=5.0, eps=1.0, sigma=1.0, r_on=1.8, r_off=2.4):
    i, j = np.triu_indices(len(pos), 1)
    d = pos[i] - pos[j]
    d -= box * np.round(d / box)
    r = np.sqrt((d * d).sum(1))
    near = r < r_off
    i, j, d, r = i[near], j[near], d[near], r[near]
    sr6 = (sigma / r) ** 6
    pair = 4 * eps * (sr6 ** 2 - sr6)
    t = (r - r_on) / (r_off - r_on)
    switch = np.select([r < r_on, r < r_off], [np.ones_like(r), 1 - t ** 3 * (10 - 15 * t + 6 * t ** 2)], 0.0)
    slope = 24 * eps * (2 * sr6 ** 2 - sr6) / r ** 2
    forces = np.zeros_like(pos)
    np.add.at(forces, i, slope[:, None] * d)
    np.subtract.at(forces, j, slope[:, None] * d)
    energy = np.sum(switch * pair)
    return energy, forces
def lj_objective(pos, pressure_weight=1e-3):
    energy, forces = lj_energy_and_force(pos)
    virial = np.einsum("ij,ij->", pos - pos.mean(axis=0), forces)
    return energy / len(pos) + pressure_weight * np.sqrt(1 + virial ** 2)

def spin_chain_energy(angles, field_b=(0.0, 0.1, 0.3), boundary="periodic", **couplings):
    J = couplings.pop("J", 1.0)
    D = couplings.pop("D", 0.0)
    K = couplings.pop("K", 0.0)
    if couplings:
        raise TypeError(f"unknown couplings: {sorted(couplings)}")
    theta, phi = angles
    spins = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    if boundary == "periodic":
        left, right = spins, np.roll(spins, -1, axis=0)
    elif boundary == "open":
        left, right = spins[:-1], spins[1:]
    else:
        raise ValueError(boundary)
    energy = -J * np.sum(left * right)
    energy -= D * np.cross(left, right)[:, 2].sum()
    energy -= K * (spins[:, 2] ** 2).sum()
    energy -= np.dot(spins, field_b).sum()
    return float(energy)

def scf_energy(onsite, hopping=1.0, U=1.5, n_elec=3, mixing=0.5, tol=1e-9, max_iter=40):
    n = len(onsite)
    h0 = np.diag(onsite) - hopping * (np.eye(n, k=1) + np.eye(n, k=-1))
    density = np.full(n, n_elec / n)
    history = []
    for it in range(max_iter):
        fock = h0 + U * np.diag(density)
        eps, C = np.linalg.eigh(fock)
        occ = C[:, :n_elec]
        new = np.sum(occ ** 2, axis=1)
        energy = 2 * eps[:n_elec].sum() - U * np.sum(new * density)
        history.append(energy)
        if it > 1 and abs(history[-1] - history[-2]) < tol:
            break
        density = (1 - mixing) * density + mixing * new
    dipole = np.dot(np.arange(n) - (n - 1) / 2, new)
    return history[-1] + 0.1 * dipole ** 2

WINDOWS = {"hann": lambda n: 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n), "boxcar": np.ones,}
@functools.lru_cache(maxsize=None)
def get_window(name, n):
    return WINDOWS[name](n)
def welch(x, nper=32, window="hann"):
    w = get_window(window, nper)
    segments = [x[k:k + nper] for k in range(0, len(x) - nper + 1, nper // 2)]
    return np.mean([np.abs(np.fft.rfft(w * (s - s.mean()))) ** 2 for s in segments], axis=0) / (w @ w)
def equaliser_error(gains, signal, desired_psd, knots, fs=100.0):
    freq = np.fft.rfftfreq(signal.size, d=1 / fs)
    level_db = np.interp(freq, knots, gains["db"])
    response = 10 ** (level_db / 20) * np.exp(-2j * np.pi * freq * gains["delay"][0])
    out = np.fft.irfft(np.fft.rfft(signal) * response, n=signal.size)
    psd = welch(out)
    ratio = np.log(psd[1:-1] / desired_psd[1:-1])
    return np.mean(ratio ** 2) + 1e-3 * np.sum(np.diff(gains["db"]) ** 2) + 0.1 * np.mean((out - signal) ** 2)

def bilinear(image, rows, cols):
    h, w = image.shape
    rows, cols = np.clip(rows, 0, h - 1.001), np.clip(cols, 0, w - 1.001)
    r0, c0 = np.floor(rows).astype(int), np.floor(cols).astype(int)
    fr, fc = rows - r0, cols - c0
    return ((1 - fr) * (1 - fc) * image[r0, c0] + (1 - fr) * fc * image[r0, c0 + 1]
            + fr * (1 - fc) * image[r0 + 1, c0] + fr * fc * image[r0 + 1, c0 + 1])
def registration_loss(affine, moving, fixed, margin=3, metric="ncc"):
    A, shift = affine[:4].reshape(2, 2), affine[4:]
    h, w = fixed.shape
    grid = np.mgrid[margin:h - margin, margin:w - margin].reshape(2, -1).astype(float)
    centre = np.array([[(h - 1) / 2], [(w - 1) / 2]])
    rows, cols = A @ (grid - centre) + centre + shift[:, None]
    warped = bilinear(moving, rows, cols)
    ref = fixed[margin:-margin, margin:-margin].ravel()
    if metric == "ssd":
        return np.mean((warped - ref) ** 2)
    a, b = warped - warped.mean(), ref - ref.mean()
    return 1.0 - (a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))

class PeakModel:
    shapes = {}
    @classmethod
    def shape(cls, func):
        cls.shapes[func.__name__] = func
        return func
    @classmethod
    def evaluate(cls, x, kinds, params):
        total = np.polyval(params["baseline"], x)
        for k, kind in enumerate(kinds):
            total = total + params["height"][k] * cls.shapes[kind](x - params["center"][k], params["width"][k])
        return total
@PeakModel.shape
def gauss(u, w):
    return np.exp(-0.5 * (u / w) ** 2)
@PeakModel.shape
def lorentz(u, w):
    return 1.0 / (1.0 + (u / w) ** 2)
@PeakModel.shape
def sech2(u, w):
    return np.cosh(u / w) ** -2
def peak_fit_chi2(params, x, counts, kinds, prior_width=0.6):
    model = PeakModel.evaluate(x, kinds, params)
    noise = np.sqrt(np.maximum(counts, 1.0))
    chi2 = (((counts - model) / noise) ** 2).sum()
    penalty = np.square(np.log(params["width"] / prior_width)).sum()
    return chi2 / (len(x) - 4) + penalty

class Orbit:
    MU = 4 * math.pi ** 2          # au^3 / yr^2
    def __init__(self, shape, angles):
        self.shape, self.angles = shape, angles
    @classmethod
    def from_degrees(cls, a, e, *degrees):
        return cls(np.array([a, e]), np.deg2rad(np.array(degrees)))
    @property
    def mean_motion(self):
        return math.sqrt(self.MU / self.shape[0] ** 3)
    @property
    def rotation(self):
        inc, node, peri = self.angles[:3]
        rz = lambda t: np.array([[np.cos(t), -np.sin(t), 0], [np.sin(t), np.cos(t), 0], [0, 0, 1.0]])
        rx = np.array([[1.0, 0, 0], [0, np.cos(inc), -np.sin(inc)], [0, np.sin(inc), np.cos(inc)]])
        return rz(node) @ rx @ rz(peri)
    def eccentric_anomaly(self, M, tol=1e-13):
        e = self.shape[1]
        E = M + e * math.sin(M)
        while abs(dE := (E - e * math.sin(E) - M) / (1 - e * math.cos(E))) > tol:
            E -= dE
        return E
    def position(self, t):
        a, e = self.shape
        E = self.eccentric_anomaly(self.angles[3] + self.mean_motion * t)
        return self.rotation @ np.array([a * (math.cos(E) - e), a * math.sqrt(1 - e * e) * math.sin(E), 0.0])
def orbit_residual(orbit, times, observed, sigma=0.01):
    total = 0.0
    for t, (lon_obs, lat_obs) in zip(times, observed):
        earth = np.array([math.cos(2 * math.pi * t), math.sin(2 * math.pi * t), 0.0])
        x, y, z = orbit.position(t) - earth
        d_lon = (np.arctan2(y, x) - lon_obs + np.pi) % (2 * np.pi) - np.pi
        d_lat = np.arctan2(z, np.hypot(x, y)) - lat_obs
        total += (d_lon * math.cos(lat_obs)) ** 2 + d_lat ** 2
    return total / (2 * len(times) * sigma ** 2)

LINES = [(0, 1, 0.02, 0.06), (0, 2, 0.08, 0.24), (1, 2, 0.06, 0.18),
         (1, 3, 0.06, 0.18), (2, 3, 0.01, 0.03), (3, 4, 0.08, 0.24), (1, 4, 0.04, 0.12)]
def admittance(lines, n):
    Y = np.zeros((n, n), dtype=complex)
    for i, j, r, x in lines:
        y = 1 / complex(r, x)
        Y[i, i] += y
        Y[j, j] += y
        Y[i, j] -= y
        Y[j, i] -= y
    return Y
def power_flow_losses(injection, lines=LINES, slack=1.04, tol=1e-10):
    p_spec, q_spec = injection
    n = len(p_spec) + 1
    Y = admittance(lines, n)
    angle, mag = np.zeros(n), np.ones(n)
    mag[0] = slack
    for _ in range(15):
        V = mag * np.exp(1j * angle)
        S = V * np.conj(Y @ V)
        mismatch = np.concatenate([p_spec - S.real[1:], q_spec - S.imag[1:]])
        if np.max(np.abs(mismatch)) < tol:
            break
        I = Y @ V
        dS_da = 1j * np.diag(V) @ np.conj(np.diag(I) - Y @ np.diag(V))
        dS_dm = np.diag(V) @ np.conj(Y @ np.diag(V / mag)) + np.diag(np.conj(I) * V / mag)
        J = np.block([[dS_da.real[1:, 1:], dS_dm.real[1:, 1:]], [dS_da.imag[1:, 1:], dS_dm.imag[1:, 1:]]])
        dx = np.linalg.solve(J, mismatch)
        angle[1:] += dx[:n - 1]
        mag[1:] += dx[n - 1:]
    losses = sum((abs(V[i] - V[j]) / abs(complex(r, x))) ** 2 * r for i, j, r, x in lines)
    return losses + 0.5 * np.sum((mag - 1.0) ** 2)

CP_COEF = {"air": (1.0484, -3.837e-4, 9.4537e-7, -5.4903e-10, 7.9298e-14)}
R_AIR = 0.287
def cp(T, gas="air"):
    value = 0.0
    for c in reversed(CP_COEF[gas]):
        value = value * T + c
    return value
def simpson(f, a, b, tol=1e-4, depth=8):
    m = 0.5 * (a + b)
    whole = (b - a) / 6 * (f(a) + 4 * f(m) + f(b))
    halves = (b - a) / 12 * (f(a) + 4 * f(0.5 * (a + m)) + 2 * f(m) + 4 * f(0.5 * (m + b)) + f(b))
    if depth == 0 or abs(halves - whole) < 15 * tol:
        return halves + (halves - whole) / 15
    return simpson(f, a, m, tol / 2, depth - 1) + simpson(f, m, b, tol / 2, depth - 1)
def isentropic_temperature(T1, pressure_ratio):
    T, target = T1 * pressure_ratio ** 0.28, R_AIR * math.log(pressure_ratio)
    for _ in range(20):
        gap = simpson(lambda t: cp(t) / t, T1, T, tol=1e-6) - target
        T -= gap * T / cp(T)
        if abs(gap) < 1e-11:
            break
    return T
@contextmanager
def stage(name, report):
    report[name] = {}
    try:
        yield report[name]
    finally:
        logger.debug("%s: %s", name, report[name])
def brayton_efficiency(design, T_in=288.15):
    ratio, t_max_kK, eta_c, eta_t = design
    t_max, report = 1e3 * t_max_kK, {}
    with stage("compressor", report) as out:
        t2s = isentropic_temperature(T_in, ratio)
        out["work"] = simpson(cp, T_in, t2s) / eta_c
        out["t_exit"] = T_in + out["work"] / cp(0.5 * (T_in + t2s))
    with stage("burner", report) as out:
        out["heat"] = simpson(cp, report["compressor"]["t_exit"], t_max)
    with stage("turbine", report) as out:
        out["work"] = eta_t * simpson(cp, isentropic_temperature(t_max, 1 / (0.96 * ratio)), t_max)
    net = report["turbine"]["work"] - report["compressor"]["work"]
    return -net / report["burner"]["heat"]

SEIR_CONFIG = """
[population]
size = 250000
exposed = 120
infected = 60
[fit]
substeps = 2
knot_days = 0, 10, 22, 35
"""
def seir_nll(params, cases, config=SEIR_CONFIG):
    cfg = configparser.ConfigParser()
    cfg.read_string(config)
    N = cfg.getfloat("population", "size")
    knots = [float(s) for s in cfg["fit"]["knot_days"].split(",")]
    sub = cfg.getint("fit", "substeps")
    sigma, gamma = 1.0 / np.exp(params["log_periods"])
    reporting = special.expit(params["logit_report"])
    E, I = (cfg.getfloat("population", key) for key in ("exposed", "infected"))
    S, R = N - E - I, 0.0
    expected = np.empty(len(cases))
    for day in range(len(cases)):
        beta = math.exp(np.interp(day, knots, params["log_beta"]))
        onset = 0.0
        for _ in range(sub):
            new_e, new_i, new_r = beta * S * I / N / sub, sigma * E / sub, gamma * I / sub
            S, E, I, R = S - new_e, E + new_e - new_i, I + new_i - new_r, R + new_r
            onset += new_i
        expected[day] = onset
    assert abs(S + E + I + R - N) < 1e-6 * N
    mu = expected * reporting
    return -stats.poisson.logpmf(cases, mu).mean() + 0.5 * np.sum(np.diff(params["log_beta"]) ** 2)

def pacf_to_ar(pacf):
    """Durbin-Levinson, keeps the polynomial stationary."""
    table = {(0, 0): 0.0}
    for k, r in enumerate(pacf, start=1):
        table[k, k] = r
        for j in range(1, k):
            table[k, j] = table[k - 1, j] - r * table[k - 1, k - j]
    return [table[len(pacf), j] for j in range(1, len(pacf) + 1)]
def arma_nll(theta, y, p=2, q=1):
    raw_ar, raw_ma, (mean, log_sigma) = theta[:p], theta[p:p + q], theta[p + q:]
    ar, ma = pacf_to_ar(np.tanh(raw_ar)), pacf_to_ar(np.tanh(raw_ma))
    z = y - mean
    eps = np.zeros(len(z))
    for t in range(p, len(z)):
        pred = sum(a * z[t - i] for i, a in enumerate(ar, 1)) + sum(m * eps[t - j] for j, m in enumerate(ma, 1))
        eps[t] = z[t] - pred
    try:
        with np.errstate(over="raise"):
            sigma = np.exp(log_sigma)
    except FloatingPointError:
        return np.inf
    return -np.sum(stats.norm.logpdf(eps[p:], loc=0.0, scale=sigma)) / (len(z) - p)

@dataclass(frozen=True)
class Quaternion:
    w: float
    x: float
    y: float
    z: float
    def __mul__(self, other):
        if isinstance(other, Quaternion):
            a, b = self, other
            return Quaternion(a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                              a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                              a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                              a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w)
        return Quaternion(self.w * other, self.x * other, self.y * other, self.z * other)
    def __invert__(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)
    def __abs__(self):
        return math.sqrt(self.w ** 2 + self.x ** 2 + self.y ** 2 + self.z ** 2)
    @classmethod
    def from_rotvec(cls, v):
        angle = np.linalg.norm(v)
        if angle < 1e-9:
            return cls(1.0, *(0.5 * v))
        return cls(math.cos(angle / 2), *(math.sin(angle / 2) / angle * v))
    def rotate(self, v):
        q = self * Quaternion(0.0, *v) * ~self
        return np.array([q.x, q.y, q.z])
def gyro_calibration(calib, rates, stars, dt=0.1):
    bias, scale, mounting = calib
    q = Quaternion.from_rotvec(mounting)
    loss = []
    for step, omega in enumerate(rates):
        q = q * Quaternion.from_rotvec(dt * (scale * omega - bias))
        if step % 4 == 3:
            q = q * (1.0 / abs(q))
            reference, seen = stars[step // 4]
            loss.append(1.0 - q.rotate(seen) @ reference)
    return float(np.mean(loss) + 0.1 * np.sum((scale - 1.0) ** 2))

D65 = np.array([0.95047, 1.0, 1.08883])
def srgb_to_linear(c):
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
def xyz_to_lab(xyz):
    t = xyz / D65
    f = np.empty_like(t)
    big = t > (6 / 29) ** 3
    f[big] = np.cbrt(t[big])
    f[~big] = t[~big] * (29 / 6) ** 2 / 3 + 4 / 29
    L = 116 * f[..., 1] - 16
    a, b = 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])
    return np.stack((L, a, b), axis=-1)
def colour_matrix_delta_e(profile, patches, lab_ref):
    gamma, M = profile["gamma"], profile["matrix"]
    linear = srgb_to_linear(patches) ** gamma
    lab = xyz_to_lab(np.tensordot(linear, M, axes=([-1], [1])))
    d_l, d_a, d_b = np.moveaxis(lab - lab_ref, -1, 0)
    chroma = np.hypot(lab_ref[:, 1], lab_ref[:, 2])
    delta_e = np.sqrt(d_l ** 2 + (d_a ** 2 + d_b ** 2) / (1 + 0.045 * chroma) ** 2)
    white_error = M.sum(axis=1) - D65
    return np.mean(delta_e) + 10.0 * linalg.norm(white_error) ** 2

# data for the objectives
_rng = np.random.default_rng(2024)
_nbody_state = np.stack([_rng.normal(size=(8, 3)), 0.3 * _rng.normal(size=(8, 3))])
_system = NBodySystem(_rng.uniform(0.2, 1.0, 8))
_pend = {"theta": np.array([0.7, -0.4]), "omega": np.array([0.1, 0.5]),
         "length": np.array([1.0, 0.7]), "mass": np.array([1.2, 0.8])}
_tip = np.column_stack([np.linspace(0.4, -0.2, 15), np.linspace(-1.4, -1.6, 15)])
_lv = LVParams(np.array([1.1, 0.42, 0.9, 0.31]), np.array([4.0, 2.2]))
_lv_t = np.linspace(0.37, 3.1, 9)
_lv_obs = np.exp(_rng.normal(1.0, 0.3, size=(9, 2)))
_rod = Rod(_rng.uniform(0.4, 1.4, 20), 20 + 5 * _rng.normal(size=20), 0.3 * _rng.normal(size=20))
_rod_data = 20 + _rng.normal(size=(6, 5))
_grid = np.linspace(0, 2 * np.pi, 48, endpoint=False)
_u0 = 1.2 * np.sin(_grid + 0.21) + 0.4 * np.cos(2 * _grid) + 0.5
_nodes = np.array([[float(i), float(j)] for i in range(4) for j in range(2)])
_bars = [(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7), (2, 3), (4, 5), (6, 7), (0, 3), (1, 2), (2, 5), (3, 4), (4, 7), (5, 6)]
_truss = Truss(_nodes, _bars, supports=[(0, 0), (0, 1), (1, 0), (1, 1)])
_load = np.zeros(16)
_load[[13, 9]] = -1.0, -0.6
_kf = KFParams(np.array([-1.2]), np.array([-0.7, -0.3]), np.array([0.3, 0.5]))
_track = np.cumsum(_rng.normal(0.25, 0.4, size=25))[:, None] + _rng.normal(0, 0.6, size=(25, 2))
_track[7] = np.nan
_way = [np.array([0.8, 0.5]), np.array([1.9, 1.6]), np.array([2.7, 0.9]), np.array([3.4, 2.2])]
_obst = [(1.0, 1.0, 0.5), (2.2, 1.1, 0.6), (3.0, 2.4, 0.4)]
_arm = RobotArm([dict(d=0.4, a=0.02, alpha=np.pi / 2, offset=0.0), dict(d=0.0, a=0.55, alpha=0.0, offset=np.pi / 2),
                 dict(d=0.0, a=0.05, alpha=np.pi / 2, offset=0.0), dict(d=0.5, a=0.0, alpha=-np.pi / 2, offset=0.0),
                 dict(d=0.0, a=0.0, alpha=np.pi / 2, offset=0.0), dict(d=0.12, a=0.0, alpha=0.0, offset=0.0)])
_lens = {"curvature": np.array([0.11, -0.09, -0.085, -0.01]), "thickness": np.array([0.6, 0.15, 0.3, 0.2])}
_exc = np.column_stack([_rng.uniform(0.6, 1.1, 12), _rng.uniform(-0.4, 0.4, 12)])
_market = {"spot": np.array([100.0, 55.0, 230.0]), "vol": np.array([0.22, 0.35, 0.18]), "rate": np.array([0.03])}
_book = [(0, "call", 105.0, 0.5, 10), (0, "put", 95.0, 0.25, -8), (1, "put", 50.0, 1.0, 15), (1, "digital", 60.0, 0.75, 4),
         (2, "call", 220.0, 0.4, -3), (2, "digital", 240.0, 1.2, 6), (0, "call", 100.0, 1.5, -4)]
_strikes = np.linspace(80.0, 125.0, 10)
_smile = 0.22 + 0.5 * np.log(_strikes / 100) ** 2 - 0.1 * np.log(_strikes / 100) + 0.004 * _rng.normal(size=10)
_prices = price_call(100.0, _strikes, 0.0, _smile, 0.75)
_arrh = (np.array([-0.2, 0.9, 1.1, -1.4]), np.array([12.0, 8.0, 9.5, 15.0]))
_formula = np.array([[2.0, 0, 2, 1, 0, 0], [0, 2.0, 1, 1, 1, 1], [0, 0, 0, 0, 1.0, 0]])
_mix = Mixture(np.array([0.4, 0.9, -2.1, 0.2, -1.5, 1.3]), np.array([2.0, 1.6, 0.5]))
_lattice = np.array([[i, j, k] for i in range(4) for j in range(4) for k in range(2)], dtype=float)
_atoms = 1.25 * _lattice * np.array([1, 1, 2.0]) + 0.08 * _rng.normal(size=_lattice.shape)
_spins = [_rng.uniform(0.3, 2.8, 40), _rng.uniform(-3, 3, 40)]
_sig_t = np.arange(128) / 100.0
_signal = np.sin(2 * np.pi * 7 * _sig_t) + 0.5 * np.sin(2 * np.pi * 23 * _sig_t) + 0.3 * _rng.normal(size=128)
_eq = {"db": np.array([0.5, -1.0, 2.0, -3.0, -6.0, -4.0]), "delay": np.array([0.004])}
_knots = np.array([0.0, 5.0, 12.0, 21.0, 33.0, 50.0])
_yy, _xx = np.mgrid[0:22, 0:22] / 21.0
_fixed = np.exp(-12 * ((_yy - 0.45) ** 2 + (_xx - 0.55) ** 2)) + 0.3 * np.sin(5 * _xx + 3 * _yy)
_moving = np.exp(-11 * ((_yy - 0.5) ** 2 + (_xx - 0.48) ** 2)) + 0.3 * np.sin(5 * _xx + 2.8 * _yy + 0.2)
_peak_x = np.linspace(-5, 5, 60)
_peaks = {"center": np.array([-2.1, 0.4, 2.3]), "width": np.array([0.5, 0.8, 0.45]),
          "height": np.array([80.0, 55.0, 95.0]), "baseline": np.array([0.1, 0.6, 12.0])}
_counts = _rng.poisson(10 + 75 * gauss(_peak_x + 2, 0.6) + 60 * lorentz(_peak_x - 0.5, 0.7) + 90 * sech2(_peak_x - 2.2, 0.5)).astype(float)
_orbit = Orbit.from_degrees(2.3, 0.21, 11.0, 48.0, 130.0, 75.0)
_obs_t = np.linspace(0.05, 0.9, 10)
_obs_dir = np.column_stack([np.linspace(4.1, 5.6, 10), 0.1 * np.cos(_obs_t * 5)])
_inject = (np.array([0.2, -0.45, -0.4, -0.6]), np.array([0.2, -0.15, -0.05, -0.1]))
_seir = {"log_beta": np.log([0.55, 0.42, 0.25, 0.3]), "log_periods": np.log([4.0, 6.0]), "logit_report": np.array(-0.8)}
_cases = _rng.poisson(15 * np.exp(0.05 * np.arange(36)))
_series = np.convolve(_rng.normal(size=70), [1.0, 0.8, 0.45, 0.2])[5:65] + 0.5
_unit = lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True)
_stars = [tuple(_unit(_rng.normal(size=3) + shift) for shift in ([1, 0, 1], [1, 0.2, 1])) for _ in range(5)]
_calib = (np.array([0.02, -0.01, 0.03]), np.array([1.02, 0.97, 1.01]), np.array([0.1, -0.2, 0.15]))
_patches = _rng.uniform(0.02, 0.98, size=(24, 3))
_profile = {"matrix": np.array([[0.41, 0.36, 0.18], [0.22, 0.71, 0.08], [0.02, 0.12, 0.94]]), "gamma": np.array([1.03, 0.98, 1.01])}
_lab = xyz_to_lab(srgb_to_linear(_patches) @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T)

PROGRAMS = [
    ("nbody_virial", nbody_virial, (_nbody_state, _system)), ("pendulum_tip_error", pendulum_tip_error, (_pend, _tip)),
    ("lotka_volterra_misfit", lotka_volterra_misfit, (_lv, _lv_t, _lv_obs)),
    ("heat_rod_misfit", heat_rod_misfit, (_rod, _rod_data)),
    ("burgers_final_gradient", burgers_final_gradient, (_u0,)),
    ("poisson_field_energy", poisson_field_energy, (_rng.normal(size=(12, 14)), PoissonSolver((12, 14)))),
    ("truss_compliance", truss_compliance, (_rng.uniform(0.5, 1.5, len(_bars)), _truss, _load)),
    ("kalman_nll", kalman_nll, (_kf, _track)),
    ("bezier_path_cost", bezier_path_cost, (_way, np.zeros(2), np.array([4.0, 3.0]), _obst)),
    ("robot_reach_cost", robot_reach_cost, (np.array([0.3, -0.5, 0.7, 0.2, 0.9, -0.4]), _arm, np.array([0.5, 0.2, 0.3]))),
    ("lens_spot_size", lens_spot_size, (_lens, [1.0, 1.517, 1.0, 1.62, 1.0], np.linspace(-1.0, 1.1, 8))),
    ("antenna_sidelobe_level", antenna_sidelobe_level, (_exc, np.linspace(-1.5, 1.5, 60), 0.15)),
    ("option_book_variance", option_book_variance, (_market, _book, np.linspace(-0.2, 0.22, 15))),
    ("yield_curve_error", yield_curve_error, (np.array([0.042, -0.02, -0.01, 0.015, 0.4, 1.9]),)),
    ("smile_roughness", smile_roughness, (_prices, _strikes)),
    ("kinetics_yield", kinetics_yield, (_arrh, np.array([1.0, 0.2, 0.1, 0.05]))),
    ("equilibrium_entropy", equilibrium_entropy, (_mix, _formula, StepCounter())),
    ("lj_objective", lj_objective, (_atoms,)),
    ("spin_chain_energy", functools.partial(spin_chain_energy, J=1.0, D=0.4, K=0.2), (_spins,)),
    ("scf_energy", scf_energy, (_rng.normal(0, 0.5, size=9),)),
    ("equaliser_error", equaliser_error, (_eq, _signal, 0.5 * welch(_signal) + 0.05, _knots)),
    ("registration_loss", registration_loss, (np.array([0.98, 0.05, -0.04, 1.03, 0.37, -0.61]), _moving, _fixed)),
    ("peak_fit_chi2", peak_fit_chi2, (_peaks, _peak_x, _counts, ["gauss", "lorentz", "sech2"])),
    ("orbit_residual", orbit_residual, (_orbit, _obs_t, _obs_dir)),
    ("power_flow_losses", power_flow_losses, (_inject,)),
    ("brayton_efficiency", brayton_efficiency, (np.array([12.0, 1.4, 0.86, 0.89]),)),
    ("seir_nll", seir_nll, (_seir, _cases)), ("arma_nll", arma_nll, (np.array([0.6, -0.2, 0.3, 0.4, 0.1]), _series)),
    ("gyro_calibration", gyro_calibration, (_calib, 0.5 * _rng.normal(size=(20, 3)), _stars)),
    ("colour_matrix_delta_e", colour_matrix_delta_e, (_profile, _patches, _lab)),
]
