"""The second table: derivatives of derivatives. Workloads, and how each tool makes them, as its user would.

derivative of order k     grad, k times nested
Hessian                   of a function of one vector
Hessian times vector      against `grad`, a column of its own, of the same function
Jacobian                  forward, against as many single tangents
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from . import higher_by_hand as hand
from . import programs
from .peers import Prepared, as_jax, as_torch, checked, torch_as_numpy, with_modules
from .workloads import rng

Make = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Tools:
    """What each tool makes of a program, with respect to its first argument."""

    ours: Make
    autograd: Make
    torch: Make
    jax: Make


@dataclass(frozen=True)
class Beside:
    """What is timed beside the derivative: how it is made, and what it has to give."""

    make: Make
    by_hand: Callable[..., Any]
    directed: bool = False


@dataclass(frozen=True)
class SecondOrder:
    """`by_hand` is the yardstick. `directed`: the second argument is a direction, which the program itself
    does not take. `targets`: column -> how many times as long as that ours may take."""

    name: str
    program: Callable[..., Any]
    tools: Tools
    by_hand: Callable[..., Any]
    make_args: Callable[[], tuple[Any, ...]]
    targets: Mapping[str, float]
    ideal: Callable[..., Any] | None = None
    beside: Mapping[str, Beside] = field(default_factory=dict)
    directed: bool = False

    def args(self, directed: bool) -> tuple[Any, ...]:
        args = self.make_args()
        return args if directed or not self.directed else (args[0], *args[2:])

    def expected(self, column: str) -> tuple[Any, ...]:
        """By hand, what the column has to give."""
        beside = self.beside.get(column, Beside(self.tools.ours, self.by_hand, self.directed))
        return (beside.by_hand(*self.args(beside.directed)),)

    def prepare(self, column: str) -> Prepared | None:
        """None where the workload has no such column; ImportError where the tool is not there."""
        match column:
            case "primal":
                return Prepared(self.program, self.args(False), None)
            case "hand":
                return Prepared(self.by_hand, self.make_args(), as_tuple)
            case "ideal":
                return Prepared(self.ideal, self.make_args(), as_tuple) if self.ideal else None
            case "ours":
                return Prepared(self.tools.ours(self.program), self.make_args(), as_tuple)
        if column in PEERS:
            return PEERS[column](self)
        beside = self.beside.get(column)
        return beside and Prepared(beside.make(self.program), self.args(beside.directed), as_tuple)


def prepare(column: str, workload: SecondOrder) -> Prepared | str:
    return checked(column, partial(workload.prepare, column), partial(workload.expected, column))


def as_tuple(result: Any) -> tuple[Any, ...]:
    return (result,)


def _autograd(workload: SecondOrder) -> Prepared:
    import autograd.numpy as anp

    made = workload.tools.autograd(with_modules(workload.program, anp))
    return Prepared(made, workload.make_args(), as_tuple)


def _torch(workload: SecondOrder) -> Prepared:
    made = workload.tools.torch(with_modules(workload.program, torch_as_numpy()))
    return Prepared(made, as_torch(workload.make_args()), as_tuple)


def _jax(workload: SecondOrder) -> Prepared:
    import jax

    jax.config.update("jax_enable_x64", True)
    made = jax.jit(workload.tools.jax(with_modules(workload.program, jax.numpy)))
    return Prepared(lambda *args: made(*args).block_until_ready(), as_jax(workload.make_args()), as_tuple)


PEERS = {"autograd": _autograd, "torch": _torch, "jax": _jax}


# -- what the tools make -------------------------------------------------------------------------------------


def nested(k: int, grad: Make, f: Callable[..., Any]) -> Callable[..., Any]:
    for _ in range(k):
        f = grad(f)
    return f


def derivative(k: int) -> Tools:
    return Tools(**{tool: partial(nested, k, grad) for tool, grad in GRAD.items()})


def our_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    from ctxdispatch import grad

    return grad(f)


def our_hessian(f: Callable[..., Any]) -> Callable[..., Any]:
    from ctxdispatch import hessian

    return hessian(f)


def our_hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    from ctxdispatch import hvp

    return lambda x, v, *data: hvp(f, (x, *data), (v, *[None] * len(data)))


def our_jacfwd(f: Callable[..., Any]) -> Callable[..., Any]:
    from ctxdispatch import jacfwd

    return jacfwd(f)


def our_jvps(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian column by column, a tangent each."""
    from ctxdispatch import jvp

    def columns(x, A):
        return np.stack([jvp(f, (x, A), (e, None))[1] for e in np.eye(len(x))], axis=1)

    return columns


def our_tangent(f: Callable[..., Any]) -> Callable[..., Any]:
    from ctxdispatch import jvp

    return lambda x, v, *data: jvp(f, (x, *data), (v, *[None] * len(data)))[1]


def autograd_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    import autograd

    return autograd.grad(f)


def autograd_hessian(f: Callable[..., Any]) -> Callable[..., Any]:
    import autograd

    return autograd.hessian(f)


def autograd_hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    import autograd

    product = autograd.hessian_vector_product(f)
    return lambda x, v, *data: product(x, *data, v)


def autograd_jacobian(f: Callable[..., Any]) -> Callable[..., Any]:
    import autograd

    return autograd.jacobian(f)


def autograd_tangent(f: Callable[..., Any]) -> Callable[..., Any]:
    import autograd

    push = autograd.make_jvp(f)
    return lambda x, v, *data: push(x, *data)(v)[1]


def torch_func(name: str) -> Make:
    def make(f: Callable[..., Any]) -> Callable[..., Any]:
        import torch

        return getattr(torch.func, name)(f)

    return make


def torch_hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    gradient = torch.func.grad(f)
    return lambda x, v, *data: torch.func.jvp(lambda x: gradient(x, *data), (x,), (v,))[1]


def torch_tangent(f: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    return lambda x, v, *data: torch.func.jvp(lambda x: f(x, *data), (x,), (v,))[1]


def jax_transform(name: str) -> Make:
    def make(f: Callable[..., Any]) -> Callable[..., Any]:
        import jax

        return getattr(jax, name)(f)

    return make


def jax_hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    gradient = jax.grad(f)
    return lambda x, v, *data: jax.jvp(lambda x: gradient(x, *data), (x,), (v,))[1]


def jax_tangent(f: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    return lambda x, v, *data: jax.jvp(lambda x: f(x, *data), (x,), (v,))[1]


GRAD = {
    "ours": our_grad, "autograd": autograd_grad, "torch": torch_func("grad"), "jax": jax_transform("grad"),
}  # fmt: skip
HESSIAN = Tools(our_hessian, autograd_hessian, torch_func("hessian"), jax_transform("hessian"))
HVP = Tools(our_hvp, autograd_hvp, torch_hvp, jax_hvp)
TANGENT = Tools(our_tangent, autograd_tangent, torch_tangent, jax_tangent)
JACFWD = Tools(our_jacfwd, autograd_jacobian, torch_func("jacfwd"), jax_transform("jacfwd"))


# -- the workloads -------------------------------------------------------------------------------------------


def all_workloads() -> list[SecondOrder]:
    return [
        *(order(k) for k in (1, 2, 3, 4)),
        rosenbrock_hessian(10, {"hand": 2.0}),
        rosenbrock_hessian(100, {}),  # dense; the sparse one is in the third table
        mlp_hessian(),
        rosenbrock_hvp(1000),
        mlp_hvp(),
        jacobian(100),
    ]


def order(k: int) -> SecondOrder:
    by_hand, ideal = (getattr(hand, name.format(k)) for name in ("wobble_{}", "ideal_wobble_{}"))
    return SecondOrder(
        f"sin(cos(x)) * x, order {k}", programs.wobble, derivative(k), by_hand, lambda: (0.7,),
        {"ideal": 1.6}, ideal,
    )  # fmt: skip


def rosenbrock_hessian(n: int, targets: dict[str, float]) -> SecondOrder:
    return SecondOrder(
        f"Hessian, Rosenbrock n = {n}", programs.rosenbrock, HESSIAN, hand.rosenbrock_hessian,
        lambda: (rng().normal(size=n),), targets, hand.ideal_rosenbrock_hessian,
        beside={"strided": Beside(lambda f: hand.rosenbrock_hessian_in_bands, hand.rosenbrock_hessian)},
    )  # fmt: skip


def mlp_hessian() -> SecondOrder:
    return SecondOrder(
        "Hessian, MLP 49 parameters", programs.flat_mlp, HESSIAN, hand.flat_mlp_hessian, mlp_data,
        {"jax": 2.5, "torch": 1 / 15},
    )  # fmt: skip


def mlp_data() -> tuple[np.ndarray, ...]:
    """Parameters, eight rows of input, their classes."""
    random = rng()
    return 0.5 * random.normal(size=49), random.normal(size=(8, 4)), np.eye(4)[random.integers(0, 4, 8)]


def rosenbrock_hvp(n: int) -> SecondOrder:
    return SecondOrder(
        f"hvp, Rosenbrock n = {n}", programs.rosenbrock, HVP, hand.rosenbrock_hvp,
        lambda: tuple(rng().normal(size=(2, n))), {"grad": 3.0},
        beside={"grad": Beside(our_grad, hand.rosenbrock_gradient)}, directed=True,
    )  # fmt: skip


def mlp_hvp() -> SecondOrder:
    return SecondOrder(
        "hvp, MLP 49 parameters", programs.flat_mlp, HVP, hand.flat_mlp_hvp, directed_mlp_data, {"grad": 3.0},
        beside={"grad": Beside(our_grad, hand.flat_mlp_gradient)}, directed=True,
    )  # fmt: skip


def directed_mlp_data() -> tuple[np.ndarray, ...]:
    p, *data = mlp_data()
    return p, np.random.default_rng(1).normal(size=p.shape), *data


def jacobian(n: int) -> SecondOrder:
    return SecondOrder(
        f"Jacobian, tanh(A x) * x, n = {n}", programs.gated, JACFWD, hand.gated_jacobian,
        partial(gated_data, n), {"100 jvps": 0.2},
        beside={"100 jvps": Beside(our_jvps, hand.gated_jacobian)},
    )  # fmt: skip


def gated_data(n: int) -> tuple[np.ndarray, ...]:
    random = rng()
    return random.normal(size=n), random.normal(size=(n, n)) / np.sqrt(n)
