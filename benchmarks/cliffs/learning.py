"""Objectives as people write them in machine learning."""
import functools
import itertools
import logging
import math
import time
import warnings
from collections import defaultdict, deque, namedtuple
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, gammaln, log_softmax, logsumexp, softmax

logger = logging.getLogger(__name__)
EPS = 1e-8

def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        t0 = time.perf_counter()
        out = fn(*args, **kwargs)
        logger.debug("%s took %.3f ms", fn.__name__, 1e3 * (time.perf_counter() - t0))
        return out
    return wrapper

def check_shapes(*names):
    def deco(fn):
        @functools.wraps(fn)
        def inner(params, *args):
            missing = [n for n in names if n not in params]
            if missing:
                raise KeyError(f"missing parameters: {missing}")
            return fn(params, *args)
        return inner
    return deco

def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))

class Dense:
    def __init__(self, W, b, activation="linear"):
        self.W, self.b = W, b
        self.activation = activation.lower()
        self.cache = {}
    def forward(self, x):
        z = self.cache["z"] = x @ self.W + self.b
        if self.activation == "relu":
            a = np.maximum(z, 0)
        elif self.activation == "tanh":
            a = np.tanh(z)
        elif self.activation == "linear":
            a = z
        else:
            raise ValueError(f"unknown activation {self.activation!r}")
        self.cache["a"] = a
        return a

def multitask_mlp(params, X, y_reg, y_cls):
    """Shared trunk, two heads, weighted by homoscedastic uncertainty (Kendall et al.)."""
    trunk = [Dense(p["W"], p["b"], a) for p, a in zip(params["trunk"], ["ReLU", "Tanh"])]
    h = X
    for layer in trunk:
        h = layer.forward(h)
    pred = Dense(*params["reg_head"]).forward(h)[:, 0]
    logits = Dense(*params["cls_head"]).forward(h)
    losses = {"reg": np.mean((pred - y_reg) ** 2),
              "cls": -np.mean(log_softmax(logits, axis=1)[np.arange(len(y_cls)), y_cls])}
    total = 0.0
    for i, (name, loss) in enumerate(losses.items()):
        s = params["log_var"][i]
        total += (0.5 if name == "reg" else 1.0) * np.exp(-s) * loss + 0.5 * s
    return total + 1e-3 * sum(np.mean(l.cache["a"] ** 2) for l in trunk)

@timed
@check_shapes("Wxh", "Whh", "Why", "bh", "by")
def rnn_char_loss(params, inputs, targets, hprev):
    vocab_size = params["Why"].shape[0]
    xs, hs, ps = {}, {-1: np.copy(hprev)}, {}
    loss = 0
    for t in range(len(inputs)):
        xs[t] = np.zeros((vocab_size, 1))
        xs[t][inputs[t]] = 1
        hs[t] = np.tanh(np.dot(params["Wxh"], xs[t]) + np.dot(params["Whh"], hs[t - 1]) + params["bh"])
        y = np.dot(params["Why"], hs[t]) + params["by"]
        y -= y.max()
        ps[t] = np.exp(y) / np.sum(np.exp(y))
        loss += -np.log(ps[t][targets[t], 0])
    return loss / len(inputs)

LSTMParams = namedtuple("LSTMParams", ["W", "U", "b", "v"])
LSTMState = namedtuple("LSTMState", "h c")

def lstm_step(p, state, x):
    gates = p.W @ x + p.U @ state.h + p.b
    i, f, o, g = np.split(gates, 4)
    c = sigmoid(f + 1.0) * state.c + sigmoid(i) * np.tanh(g)
    return state._replace(h=sigmoid(o) * np.tanh(c), c=c)

def lstm_forecast(params, series, window=5):
    H = params.U.shape[1]
    state = LSTMState(np.zeros(H), np.zeros(H))
    errors = []
    for t, (x, nxt) in enumerate(zip(series[:-1], series[1:])):
        state = lstm_step(params, state, x)
        if t < window:
            continue
        errors.append(state.h @ params.v - nxt[0])
    errors = np.array(errors)
    # log-cosh is kinder than mse here
    return float(np.mean(np.log(np.cosh(errors))))

@dataclass
class GRUWeights:
    embed: np.ndarray
    Wz: np.ndarray
    Wr: np.ndarray
    Wh: np.ndarray
    out: np.ndarray
    @property
    def hidden(self):
        return self.Wz.shape[1]

def gru_tagger(w, sentences, tags):
    def make_cell(w):
        def cell(h, x):
            hx = np.concatenate([h, x])
            z, r = expit(hx @ w.Wz), expit(hx @ w.Wr)
            cand = np.tanh(np.concatenate([r * h, x]) @ w.Wh)
            return (1 - z) * h + z * cand
        return cell
    cell = make_cell(w)
    nll, count = 0.0, 0
    for sent, tag in zip(sentences, tags):
        fwd = list(itertools.accumulate(w.embed[sent], cell, initial=np.zeros(w.hidden)))[1:]
        scores = np.stack(fwd) @ w.out
        lp = scores - logsumexp(scores, axis=-1, keepdims=True)
        nll -= lp[range(len(sent)), tag].sum()
        count += len(sent)
    return nll / max(count, 1)

@functools.lru_cache(maxsize=None)
def positional_encoding(T, d):
    pos = np.arange(T)[:, None]
    div = np.exp(-math.log(10000.0) * np.arange(0, d, 2) / d)
    pe = np.zeros((T, d))
    pe[:, 0::2] = np.sin(pos * div)
    pe[:, 1::2] = np.cos(pos * div)
    return pe

def layer_norm(x, gamma, beta, eps=1e-5):
    mu, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return gamma * (x - mu) / np.sqrt(var + eps) + beta

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))

def transformer_lm(params, tokens, n_layers=2, n_heads=4, causal=True):
    x = params["wte"][tokens[:-1]]
    T, d = x.shape
    x = x + positional_encoding(T, d)
    mask = np.triu(np.ones((T, T), dtype=bool), k=1) if causal else np.zeros((T, T), dtype=bool)
    for l in range(n_layers):
        h = layer_norm(x, params[f"h{l}.ln1.g"], params[f"h{l}.ln1.b"])
        q, k, v = ((h @ params[f"h{l}.attn.{n}"]).reshape(T, n_heads, d // n_heads) for n in "qkv")
        att = np.einsum("thc,shc->hts", q, k) / np.sqrt(d // n_heads)
        att = np.where(mask[None], -1e9, att)
        att = np.exp(att - att.max(-1, keepdims=True))
        att /= att.sum(-1, keepdims=True)
        x = x + np.einsum("hts,shc->thc", att, v).reshape(T, d) @ params[f"h{l}.attn.proj"]
        h = layer_norm(x, params[f"h{l}.ln2.g"], params[f"h{l}.ln2.b"])
        x = x + gelu(h @ params[f"h{l}.mlp.up"]) @ params[f"h{l}.mlp.down"]
    logits = x @ params["wte"].T  # tied weights
    logp = log_softmax(logits, axis=-1)
    return -np.take_along_axis(logp, tokens[1:, None], axis=-1).mean()

class BatchNorm1d:
    def __init__(self, gamma, beta, momentum=0.1, eps=1e-5):
        self.gamma, self.beta = gamma, beta
        self.momentum, self.eps = momentum, eps
        self.running_mean = np.zeros_like(gamma)
        self.running_var = np.ones_like(gamma)
        self.training = True
    def __call__(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0)
            self.running_mean *= 1 - self.momentum
            self.running_mean += self.momentum * mean
            n = x.shape[0]
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var * n / (n - 1)
        else:
            mean, var = self.running_mean, self.running_var
        return self.gamma * (x - mean) / np.sqrt(var + self.eps) + self.beta
    def eval(self):
        self.training = False
        return self

def batchnorm_generalisation(params, X, y, X_val, y_val, batch_size=16):
    W1, gamma, beta, W2 = params
    bn = BatchNorm1d(gamma, beta)
    def net(x):
        h = bn(x @ W1)
        return (np.where(h > 0, h, 0.01 * h) @ W2).ravel()
    slices = (slice(start, start + batch_size) for start in range(0, len(X), batch_size))
    train = [((net(X[sl]) - y[sl]) ** 2).mean() for sl in slices]
    bn.eval()
    val = ((net(X_val) - y_val) ** 2).mean()
    return 0.5 * sum(train) / len(train) + 0.5 * val

class Mode:
    training = False

@contextmanager
def train_mode(mode):
    previous, mode.training = mode.training, True
    try:
        yield mode
    finally:
        mode.training = previous

def dropout(x, p, rng, mode):
    if not mode.training or p == 0.0:
        return x
    keep = rng.random(x.shape) >= p
    return x * keep / (1 - p)

def dropout_mlp(weights, X, Y, p=0.3, seed=42, n_samples=3):
    *hidden, last = weights
    rng, mode = np.random.default_rng(seed), Mode()
    def predict(x):
        for W in hidden:
            x = dropout(np.log1p(np.exp(x @ W)), p, rng, mode)
        return expit(x @ last)
    with train_mode(mode):
        samples = np.array([predict(X) for _ in range(n_samples)])
    clean = predict(X)
    probs = np.clip(samples.mean(axis=0), 1e-7, 1 - 1e-7)
    bce = -(Y * np.log(probs) + (1 - Y) * np.log(1 - probs)).mean()
    consistency = ((samples - clean) ** 2).mean()
    return bce + 0.1 * consistency + 1e-4 * sum((W ** 2).sum() for W in weights)

class ConvNet:
    def __init__(self, params):
        self.__dict__.update(params)
    @staticmethod
    def iterate_regions(image, k):
        h, w = image.shape
        for i in range(h - k + 1):
            for j in range(w - k + 1):
                yield image[i:i + k, j:j + k], i, j
    def conv(self, image):
        n, k, _ = self.filters.shape
        h, w = image.shape
        out = np.zeros((h - k + 1, w - k + 1, n))
        for region, i, j in self.iterate_regions(image, k):
            out[i, j] = np.sum(region * self.filters, axis=(1, 2))
        return out
    @staticmethod
    def maxpool(x, s=2):
        h, w, n = x.shape
        out = np.empty((h // s, w // s, n))
        for i in range(h // s):
            for j in range(w // s):
                out[i, j] = np.amax(x[i * s:(i + 1) * s, j * s:(j + 1) * s], axis=(0, 1))
        return out
    def forward(self, image):
        pooled = self.maxpool(np.tanh(self.conv(image)))
        totals = np.dot(pooled.flatten(), self.W) + self.b
        return np.exp(totals) / np.sum(np.exp(totals), axis=0)

def convnet_loss(params, images, labels):
    model = ConvNet(params)
    loss, correct = 0, 0
    for im, label in zip(images, labels):
        out = model.forward(im - 0.5)
        loss -= np.log(out[label])
        correct += 1 if np.argmax(out) == label else 0
    logger.debug("acc %.2f", correct / len(images))
    return loss / len(images)

class VAE:
    LOGVAR_RANGE = (-8.0, 8.0)
    def __init__(self, params, beta=1.0):
        self.params, self.beta = params, beta
    def encode(self, x):
        p = self.params["enc"]
        h = np.tanh(x @ p["W"] + p["b"])
        return h @ p["W_mu"], np.clip(h @ p["W_lv"], *self.LOGVAR_RANGE)
    def decode(self, z):
        p = self.params["dec"]
        return np.tanh(z @ p["W"] + p["b"]) @ p["W_out"]
    def elbo(self, x, rng):
        mu, logvar = self.encode(x)
        z = mu + np.exp(0.5 * logvar) * rng.standard_normal(mu.shape)
        logits = self.decode(z)
        # numerically stable bce with logits
        rec = np.maximum(logits, 0) - logits * x + np.log1p(np.exp(-np.abs(logits)))
        kl = -0.5 * np.sum(1 + logvar - mu ** 2 - np.exp(logvar), axis=1)
        return -rec.sum(axis=1) - self.beta * kl

def vae_loss(params, x, epoch=3):
    vae = VAE(params, beta=min(1.0, (epoch + 1) / 10))
    return -vae.elbo(x, np.random.default_rng(epoch)).mean()

def gmm_nll(theta, X, prior_dof=5):
    """Full covariance GMM, precision Cholesky parametrisation (log diagonal)."""
    alphas, means, icf = theta["alphas"], theta["means"], theta["icf"]
    (n, d), K = X.shape, len(alphas)
    tril = np.tril_indices(d, -1)
    log_prob = np.empty((n, K))
    penalty = 0.0
    for k in range(K):
        logdiag = icf[k, :d]
        L = np.diag(np.exp(logdiag))
        L[tril] = icf[k, d:]
        diff = (X - means[k]) @ L
        log_prob[:, k] = alphas[k] + logdiag.sum() - 0.5 * np.einsum("ij,ij->i", diff, diff)
        penalty += 0.5 * np.sum(L ** 2) - prior_dof * logdiag.sum()
    ll = logsumexp(log_prob, axis=1).sum() - n * (logsumexp(alphas) + 0.5 * d * np.log(2 * np.pi))
    ll -= K * gammaln(0.5 * prior_dof)
    return -(ll - penalty) / n

class HMM:
    def __init__(self, pi, A, mu, log_sigma):
        self.log_pi = pi - logsumexp(pi)
        self.log_A = A - logsumexp(A, axis=1)[:, np.newaxis]
        self.mu = mu
        self.sigma = np.exp(log_sigma)
    @classmethod
    def from_params(cls, params):
        return cls(**params)
    def emission(self, x):
        return -0.5 * ((x - self.mu) / self.sigma) ** 2 - np.log(self.sigma) - 0.5 * np.log(2 * np.pi)
    def forward(self, obs):
        alpha = np.full((len(obs), len(self.mu)), -np.inf)
        alpha[0] = self.log_pi + self.emission(obs[0])
        for t in range(1, len(obs)):
            if np.isnan(obs[t]):  # missing observation
                alpha[t] = logsumexp(alpha[t - 1][:, None] + self.log_A, axis=0)
                continue
            alpha[t] = logsumexp(alpha[t - 1][:, None] + self.log_A, axis=0) + self.emission(obs[t])
        return logsumexp(alpha[-1])

def hmm_loglik(params, obs):
    model = HMM.from_params(params)
    return -model.forward(obs) / np.count_nonzero(~np.isnan(obs))

def soft_kmeans(init_centers, X, beta=0.8, tol=1e-3, max_iter=50):
    centers = init_centers.copy()
    it, delta, history = 0, np.inf, []
    while delta > tol and it < max_iter:
        d2 = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(-1)
        r = softmax(-beta * d2, axis=1)
        new = (r.T @ X) / (r.sum(axis=0)[:, None] + EPS)
        delta = np.linalg.norm(new - centers)
        history.append((r * d2).sum() / len(X))
        centers = new
        it += 1
    if it == max_iter:
        warnings.warn("soft k-means did not converge", RuntimeWarning)
    return history[-1] + 0.1 * np.mean(history)

@dataclass(frozen=True)
class MFConfig:
    reg: float = 0.02
    bias_reg: float = 0.005
    implicit: bool = True

def svdpp_loss(params, users, items, ratings, cfg=MFConfig()):
    P, Q, Y, bu, bi = (params[k] for k in ("P", "Q", "Y", "bu", "bi"))
    user_vec = P
    if cfg.implicit:
        implicit = np.zeros_like(P)
        np.add.at(implicit, users, Y[items])
        counts = np.bincount(users, minlength=len(P))
        user_vec = P + implicit / np.sqrt(np.maximum(counts, 1))[:, None]
    pred = ratings.mean() + bu[users] + bi[items] + (user_vec[users] * Q[items]).sum(axis=1)
    err = ratings - pred
    reg = cfg.reg * sum(np.linalg.norm(M) ** 2 for M in (P, Q, Y))
    reg += cfg.bias_reg * (bu @ bu + bi @ bi)
    return np.sqrt(np.mean(err ** 2)) + reg / len(ratings)

def ranking_pairs(relevance):
    order = sorted(range(len(relevance)), key=lambda i: -relevance[i])
    for a, b in itertools.combinations(order, 2):
        if relevance[a] > relevance[b]:
            yield a, b

def lambdarank_loss(w, queries, sigma=1.0):
    total, n_queries = 0.0, 0
    for features, rel in queries:
        pairs = list(ranking_pairs(rel))
        if not pairs:
            continue
        s = np.tanh(features @ w["W1"]) @ w["w2"]
        hi, lo = map(list, zip(*pairs))
        rank = np.empty(len(s))
        rank[np.argsort(-s)] = np.arange(1, len(s) + 1)
        gain = 2.0 ** rel - 1
        ideal = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(gain, reverse=True)))
        delta = np.abs((gain[hi] - gain[lo]) * (1 / np.log2(1 + rank[hi]) - 1 / np.log2(1 + rank[lo]))) / ideal
        total += np.sum(delta * np.logaddexp(0, -sigma * (s[hi] - s[lo])))
        n_queries += 1
    assert n_queries > 0, "no query with at least one pair"
    return total / n_queries

def nt_xent(params, view_a, view_b, temperature=0.5):
    def project(x):
        z = np.maximum(x @ params[0] + params[1], 0) @ params[2]
        return z / np.linalg.norm(z, axis=1, keepdims=True)
    z = np.vstack([project(v) for v in (view_a, view_b)])
    n = len(view_a)
    sim = z @ z.T / temperature
    np.fill_diagonal(sim, -np.inf)
    pos = sim[np.arange(2 * n), np.roll(np.arange(2 * n), n)]
    return float((logsumexp(sim, axis=1) - pos).mean())

REGULARISERS = {}

def register(name):
    def add(fn):
        REGULARISERS[name] = fn
        return fn
    return add

@register("l1")
def _smooth_l1(w, eps=1e-3):
    return np.sum(np.sqrt(w * w + eps) - np.sqrt(eps))

@register("group")
def _group(w, size=5):
    return sum(np.sqrt(np.sum(g ** 2) + 1e-6) for g in np.split(w, len(w) // size))

REGULARISERS["l2"] = lambda w: 0.5 * np.dot(w, w)

def logistic_objective(w, X, y, class_weight="balanced", **penalties):
    coef, intercept = w[:-1], w[-1]
    margin = y * (X @ coef + intercept)
    sample_w = np.ones(len(y))
    if class_weight == "balanced":
        for c in np.unique(y):
            sample_w[y == c] = len(y) / (2.0 * np.sum(y == c))
    # split by sign so exp never overflows
    loss = np.empty_like(margin)
    pos = margin > 0
    loss[pos] = np.log1p(np.exp(-margin[pos]))
    loss[~pos] = -margin[~pos] + np.log1p(np.exp(margin[~pos]))
    value = np.average(loss, weights=sample_w)
    for name, strength in penalties.items():
        value += strength * REGULARISERS[name](coef)
    return value

logistic_elastic = functools.partial(logistic_objective, l1=0.01, l2=0.05, group=0.02)

class Kernel:
    def __init__(self, fn):
        self.fn = fn
    def __call__(self, X):
        return self.fn(X)
    def __add__(self, other):
        return Kernel(lambda X: self(X) + other(X))
    def __mul__(self, other):
        return Kernel(lambda X: self(X) * other(X))

def rbf(var, scales):
    def k(X):
        Z = X / scales
        sq = np.sum(Z ** 2, 1)
        return var * np.exp(-0.5 * (sq[:, None] + sq[None, :] - 2 * Z @ Z.T))
    return Kernel(k)

def gp_nlml(theta, X, y):
    d = X.shape[1]
    var, lin, noise = np.exp(theta[:3])
    linear = Kernel(lambda X: 1.0 + lin * X @ X.T)
    K = (rbf(var, np.exp(theta[3:3 + d])) * linear + rbf(0.1 * var, np.ones(d)))(X)
    jitter = 1e-8
    while True:
        try:
            factor = cho_factor(K + (noise + jitter) * np.eye(len(X)), lower=True)
            break
        except np.linalg.LinAlgError:
            jitter *= 10
            if jitter > 1e-2:
                return np.inf
    alpha = cho_solve(factor, y)
    logdet = 2 * np.log(np.diag(factor[0])).sum()
    return 0.5 * (y @ alpha + logdet + len(y) * np.log(2 * np.pi))

def kernel_svm(params, X, y, support, kind="Poly"):
    alpha, b, gamma = params["alpha"], params["b"], np.exp(params["log_gamma"])
    if (kind := kind.lower()) == "poly":
        G = (1.0 + gamma * (X @ X.T)) ** 2
    elif kind == "rbf":
        G = np.exp(-gamma * np.square(X[:, None] - X[None]).sum(2))
    else:
        raise NotImplementedError(kind)
    scale = np.sqrt(np.diag(G))
    G = G / np.outer(scale, scale)
    m = y * (G[np.ix_(np.arange(len(X)), support)] @ alpha + b)
    quad = (m < 1) & (m > 0)
    loss = np.zeros(len(y))
    loss[quad] = 0.5 * (1 - m[quad]) ** 2
    loss[m <= 0] = 0.5 - m[m <= 0]
    return (loss.mean() + 0.05 * alpha @ G[np.ix_(support, support)] @ alpha).item()

def kfold(n, k, seed=0):
    idx = np.random.default_rng(seed).permutation(n)
    for fold in np.array_split(idx, k):
        mask = np.ones(n, dtype=bool)
        mask[fold] = False
        yield np.flatnonzero(mask), fold

class Ridge:
    def __init__(self, lam):
        self.lam, self.coef_ = lam, None
    def fit(self, X, y):
        self.mean_, self.y_mean_ = X.mean(axis=0), y.mean()
        Xc = X - self.mean_
        A = Xc.T @ Xc
        A[np.diag_indices_from(A)] += self.lam
        self.coef_ = np.linalg.solve(A, Xc.T @ (y - self.y_mean_))
        return self
    def predict(self, X):
        if self.coef_ is None:
            raise RuntimeError("fit first")
        return (X - self.mean_) @ self.coef_ + self.y_mean_

def ridge_cv(hyper, X, y, k=5):
    log_lam, log_scale = hyper
    Z = X * np.exp(log_scale)
    scores = [np.mean((Ridge(np.exp(log_lam)).fit(Z[tr], y[tr]).predict(Z[te]) - y[te]) ** 2)
              for tr, te in kfold(len(y), k)]
    logger.debug(f"cv mse {np.mean(scores):.4f} +/- {np.std(scores):.4f}")
    return np.mean(scores) + 0.1 * np.std(scores)

@dataclass
class TreeNode:
    w: Optional[np.ndarray] = None
    value: Optional[np.ndarray] = None
    left: Optional["TreeNode"] = None
    right: Optional["TreeNode"] = None
    @property
    def is_leaf(self):
        return self.left is None

def grow(gates, leaves, i=0):
    if i >= len(gates):
        return TreeNode(value=leaves[i - len(gates)])
    return TreeNode(w=gates[i], left=grow(gates, leaves, 2 * i + 1), right=grow(gates, leaves, 2 * i + 2))

def evaluate(node, X, reach):
    if node.is_leaf:
        return reach * node.value
    p = expit(X @ node.w[:-1] + node.w[-1])
    return evaluate(node.left, X, reach * p) + evaluate(node.right, X, reach * (1 - p))

def boosted_soft_trees(forest, X, y, shrinkage=0.5):
    F = np.zeros(len(X))
    trace = []
    for gates, leaves in forest:
        F += shrinkage * evaluate(grow(gates, leaves), X, np.ones(len(X)))
        trace.append(np.logaddexp(0, -y * F).mean())
    logger.debug("staged loss: %s", trace)
    return trace[-1] + 0.01 * sum(trace[:-1])

class CRF(NamedTuple):
    transitions: np.ndarray
    start: np.ndarray
    W: np.ndarray

def crf_nll(crf, batch):
    def score(emit, tags):
        s = crf.start[tags[0]] + emit[0, tags[0]]
        for t, (prev, cur) in enumerate(zip(tags, tags[1:]), start=1):
            s += crf.transitions[prev, cur] + emit[t, cur]
        return s
    def log_partition(emit):
        memo = {}
        def alpha(t):
            if (hit := memo.get(t)) is not None:
                return hit
            if t == 0:
                memo[t] = crf.start + emit[0]
            else:
                memo[t] = logsumexp(alpha(t - 1)[:, None] + crf.transitions, axis=0) + emit[t]
            return memo[t]
        return logsumexp(alpha(len(emit) - 1))
    losses = []
    for feats, tags in batch:
        emissions = feats @ crf.W
        losses.append(log_partition(emissions) - score(emissions, tags))
    return sum(losses) / len(losses) + 0.01 * np.sum(crf.transitions ** 2)

class Embeddings:
    def __init__(self, inp, out):
        self.inp, self.out = inp, out
    def __len__(self):
        return self.inp.shape[0]
    def __getitem__(self, idx):
        return self.inp[idx]

def skipgram_ns(emb, corpus, window=2, negatives=4, seed=7):
    rng = np.random.default_rng(seed)
    counts = np.bincount(corpus, minlength=len(emb)) + 1.0
    noise = counts ** 0.75
    noise /= noise.sum()
    loss, n = 0.0, 0
    for pos, center in enumerate(corpus):
        ctx = [corpus[j] for j in range(max(0, pos - window), min(len(corpus), pos + window + 1)) if j != pos]
        neg = rng.choice(len(emb), size=(len(ctx), negatives), p=noise)
        v = emb[center]
        loss -= np.log(sigmoid(emb.out[ctx] @ v)).sum()
        loss -= np.log(sigmoid(-(emb.out[neg] @ v))).sum()
        n += len(ctx)
    return loss / n

Transition = namedtuple("Transition", ["state", "action", "reward"])

def discounted_returns(rewards, gamma):
    R, out = 0.0, deque()
    for r in reversed(rewards):
        R = r + gamma * R
        out.appendleft(R)
    return np.array(out)

def reinforce_loss(params, episodes, gamma=0.97, entropy_coef=0.01):
    policy, critic = params["policy"], params["critic"]
    batch = defaultdict(list)
    for ep in episodes:
        states, actions, rewards = map(np.asarray, zip(*ep))
        returns = discounted_returns(rewards, gamma)
        logits = np.tanh(states @ policy["W1"] + policy["b1"]) @ policy["W2"]
        logp = logits - logsumexp(logits, axis=1, keepdims=True)
        values = np.tanh(states @ critic["W1"]) @ critic["w2"]
        adv = returns - values
        adv = (adv - adv.mean()) / (adv.std() + EPS)
        batch["pg"].append(-(logp[np.arange(len(actions)), actions] * adv).mean())
        batch["value"].append(0.5 * np.mean((returns - values) ** 2))
        batch["entropy"].append(-np.sum(np.exp(logp) * logp, axis=1).mean())
    stats = {k: np.mean(v) for k, v in batch.items()}
    return stats["pg"] + 0.5 * stats["value"] - entropy_coef * stats["entropy"]

def huber(x, delta=1.0):
    a = np.abs(x)
    return np.where(a <= delta, 0.5 * x ** 2, delta * (a - 0.5 * delta))

def double_dqn_loss(online, target, replay, gamma=0.95):
    def q_values(net, s):
        h = s
        for i, (W, b) in enumerate(net):
            h = h @ W + b
            if i < len(net) - 1:
                h[h < 0] *= 0.1
        adv = h[:, 1:]
        return h[:, :1] + adv - adv.mean(axis=1, keepdims=True)  # dueling
    s, a, r, s2, done = replay
    rows = np.arange(len(a))
    q = q_values(online, s)[rows, a]
    q_next = q_values(online, s2)
    best = q_next.argmax(axis=1)
    backup = r + gamma * (1 - done) * q_values(target, s2)[rows, best]
    # soft state value keeps some pressure on the bootstrap side
    residual = r + gamma * (1 - done) * q_next.max(axis=1) - q
    return float(huber(q - backup).mean() + 0.1 * huber(residual).mean())

class GradientBandit:
    def __init__(self, h0, lr):
        self.h, self.lr = h0.copy(), lr
        self.baseline, self.t = 0.0, 0
    @property
    def probs(self):
        e = np.exp(self.h - np.max(self.h))
        return e / e.sum()
    def update(self, action, reward):
        p = self.probs
        self.t += 1
        advantage = reward - self.baseline
        self.h -= self.lr * advantage * p
        self.h[action] += self.lr * advantage
        self.baseline += (reward - self.baseline) / self.t
        return -math.log(p[action])

def bandit_choice_nll(params, actions, rewards):
    """Negative log likelihood of a subject's choices under the gradient bandit."""
    agent = GradientBandit(params["h0"], math.exp(params["log_lr"]))
    nll = sum(agent.update(a, r * params["reward_scale"][a]) for a, r in zip(actions, rewards))
    return nll / len(actions) + 0.01 * np.sum(params["h0"] ** 2)

class Coupling:
    def __init__(self, params, flip):
        self.p, self.flip = params, flip
    def __call__(self, x):
        a, b = np.split(x, 2, axis=1)
        if self.flip:
            a, b = b, a
        h = np.tanh(a @ self.p["W"] + self.p["c"])
        s = 2.0 * np.tanh(h @ self.p["S"])
        b = b * np.exp(s) + h @ self.p["T"]
        y = np.concatenate((b, a) if self.flip else (a, b), axis=1)
        return y, s.sum(axis=1)

class Flow:
    def __init__(self, *layers):
        self.layers = layers
    def __or__(self, layer):
        return Flow(*self.layers, layer)

def realnvp_nll(layers, X):
    flow = Flow()
    for i, p in enumerate(layers):
        flow = flow | Coupling(p, flip=bool(i % 2))
    z, logdet = X, np.zeros(len(X))
    for f in flow.layers:
        z, ld = f(z)
        logdet += ld
    log_base = -0.5 * (z ** 2 + np.log(2 * np.pi)).sum(axis=1)
    return -(log_base + logdet).mean()

def euler_step(f, t, y, h):
    return y + h * f(t, y)

def rk4_step(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

SOLVERS = {"euler": euler_step, "rk4": rk4_step}

def odeint(f, y0, ts, method="rk4", substeps=2):
    step, y = SOLVERS[method], y0
    yield y
    for t0, t1 in zip(ts[:-1], ts[1:]):
        h = (t1 - t0) / substeps
        for j in range(substeps):
            y = step(f, t0 + j * h, y, h)
        yield y

def neural_ode_loss(params, y0, ts, observed, method="rk4"):
    W1, b1, W2 = params
    def field_(t, y):
        inp = np.hstack([y, np.full((len(y), 1), t)])
        return np.tanh(inp @ W1 + b1) @ W2
    path = np.stack(list(odeint(field_, y0, ts, method=method)))
    kinetic = np.mean([np.mean(field_(t, y) ** 2) for t, y in zip(ts, path)])
    return np.mean(np.abs(path - observed) ** 1.5) + 0.01 * kinetic

def normalised_adjacency(weights, edges, n):
    A = np.zeros((n, n))
    src, dst = edges.T
    np.add.at(A, (src, dst), weights)
    A = 0.5 * (A + A.T)
    np.fill_diagonal(A, 1.0)
    d = A.sum(axis=1) ** -0.5
    return d[:, None] * A * d

def gcn_loss(params, edges, X, labels, train_mask):
    A = normalised_adjacency(np.exp(params["edge_logits"]), edges, len(X))
    h, layer = X, 0
    while f"W{layer}" in params:
        h = A @ h @ params[f"W{layer}"]
        if f"W{layer + 1}" in params:
            h = np.where(h > 0, h, np.expm1(h))  # elu
        layer += 1
    logp = log_softmax(h, axis=1)
    nll = -logp[train_mask][np.arange(train_mask.sum()), labels[train_mask]].mean()
    smooth = sum(A[i, j] * np.sum((logp[i] - logp[j]) ** 2) for i, j in edges[:10])
    wd = 5e-4 * sum(np.sum(v ** 2) for k, v in params.items() if k.startswith("W"))
    return nll + 1e-3 * smooth + wd

class PCA:
    def __init__(self, n_components, whiten=False):
        self.n_components, self.whiten = n_components, whiten
    def fit(self, X):
        self.mean_ = np.mean(X, axis=0)
        cov = np.cov(X - self.mean_, rowvar=False)
        evals, evecs = np.linalg.eigh(cov)
        order = np.argsort(evals)[::-1]
        self.evals_, self.components_ = evals[order], evecs[:, order[:self.n_components]]
        return self
    @property
    def explained_variance_ratio_(self):
        return self.evals_[:self.n_components] / self.evals_.sum()
    def transform(self, X):
        Z = (X - self.mean_) @ self.components_
        return Z / np.sqrt(self.evals_[:self.n_components]) if self.whiten else Z
    def inverse_transform(self, Z):
        if self.whiten:
            Z = Z * np.sqrt(self.evals_[:self.n_components])
        return Z @ self.components_.T + self.mean_

def pca_novelty(X, X_test, n_components=4):
    pca = PCA(n_components, whiten=True).fit(X)
    Z = pca.transform(X_test)
    rec = pca.inverse_transform(Z)
    spe, t2 = np.sum((X_test - rec) ** 2, axis=1), np.sum(Z ** 2, axis=1)
    return np.mean(np.log1p(spe) + 0.5 * np.log1p(t2)) + (1 - sum(pca.explained_variance_ratio_))

class ParamVec:
    """A few named arrays with vector-space arithmetic."""
    def __init__(self, **arrays):
        self.arrays = arrays
    def _zip(self, other, op):
        if isinstance(other, ParamVec):
            return ParamVec(**{k: op(a, other.arrays[k]) for k, a in self.arrays.items()})
        return ParamVec(**{k: op(a, other) for k, a in self.arrays.items()})
    def __add__(self, o): return self._zip(o, np.add)
    def __sub__(self, o): return self._zip(o, np.subtract)
    def __mul__(self, o): return self._zip(o, np.multiply)
    def __truediv__(self, o): return self._zip(o, np.divide)
    def __pow__(self, e): return self._zip(e, np.power)
    __rmul__ = __mul__
    def __getitem__(self, k):
        return self.arrays[k]

def unrolled_adam(init, train, valid, steps=8, lr=0.05, b1=0.9, b2=0.99):
    def loss_and_grad(p, X, y):
        h = np.tanh(X @ p["W"])
        err = h @ p["v"] - y
        dv = h.T @ err / len(y)
        dW = X.T @ (np.outer(err, p["v"]) * (1 - h ** 2)) / len(y)
        return 0.5 * np.mean(err ** 2), ParamVec(W=dW, v=dv)
    p, m, s, history = init, init * 0.0, init * 0.0, []
    for t in range(1, steps + 1):
        loss, g = loss_and_grad(p, *train)
        history.append(loss)
        m = b1 * m + (1 - b1) * g
        s = b2 * s + (1 - b2) * g ** 2
        mhat, shat = m / (1 - b1 ** t), s / (1 - b2 ** t)
        p = p - lr * (mhat / ((shat + 1e-4) ** 0.5))
    final, _ = loss_and_grad(p, *valid)
    return final + 0.05 * sum(history) / len(history)

def _glorot(rng, *shape):
    return rng.standard_normal(shape) * np.sqrt(2.0 / (shape[0] + shape[-1]))

r = np.random.default_rng(20240)
a1 = ({"trunk": [{"W": _glorot(r, 12, 24), "b": 0.1 * r.standard_normal(24)},
                 {"W": _glorot(r, 24, 16), "b": 0.1 * r.standard_normal(16)}],
       "reg_head": (_glorot(r, 16, 1), np.zeros(1)), "cls_head": (_glorot(r, 16, 4), np.zeros(4)),
       "log_var": np.array([0.2, -0.3])},
      r.standard_normal((40, 12)), r.standard_normal(40), r.integers(0, 4, 40))
a2 = ({"Wxh": 0.3 * r.standard_normal((20, 15)), "Whh": 0.2 * r.standard_normal((20, 20)),
       "Why": 0.3 * r.standard_normal((15, 20)), "bh": 0.1 * r.standard_normal((20, 1)), "by": np.zeros((15, 1))},
      r.integers(0, 15, 12), r.integers(0, 15, 12), np.zeros((20, 1)))
a3 = (LSTMParams(0.3 * r.standard_normal((48, 5)), 0.3 * r.standard_normal((48, 12)),
                 0.1 * r.standard_normal(48), 0.5 * r.standard_normal(12)),
      np.cumsum(0.4 * r.standard_normal((20, 5)), axis=0))
a4 = (GRUWeights(0.5 * r.standard_normal((30, 8)), _glorot(r, 18, 10), _glorot(r, 18, 10),
                 _glorot(r, 18, 10), _glorot(r, 10, 5)),
      [r.integers(0, 30, n) for n in (6, 9, 5)], [r.integers(0, 5, n) for n in (6, 9, 5)])
p5 = {"wte": 0.5 * r.standard_normal((30, 16))}
for l in range(2):
    p5.update({f"h{l}.ln{i}.{n}": (1.0 if n == "g" else 0.0) + 0.05 * r.standard_normal(16)
               for i in (1, 2) for n in "gb"})
    p5.update({f"h{l}.attn.{n}": _glorot(r, 16, 16) for n in ("q", "k", "v", "proj")})
    p5.update({f"h{l}.mlp.up": _glorot(r, 16, 32), f"h{l}.mlp.down": _glorot(r, 32, 16)})
a5 = (p5, r.integers(0, 30, 13))
a6 = ((_glorot(r, 10, 20), 1 + 0.1 * r.standard_normal(20), 0.1 * r.standard_normal(20), _glorot(r, 20, 1)),
      r.standard_normal((48, 10)), r.standard_normal(48), r.standard_normal((20, 10)), r.standard_normal(20))
a7 = ([_glorot(r, 10, 24), _glorot(r, 24, 16), _glorot(r, 16, 3)],
      r.standard_normal((30, 10)), r.integers(0, 2, (30, 3)).astype(float))
a8 = ({"filters": r.standard_normal((4, 3, 3)) / 3, "W": _glorot(r, 36, 5), "b": np.zeros(5)},
      r.random((2, 8, 8)), [1, 3])
a9 = ({"enc": {"W": _glorot(r, 30, 20), "b": np.zeros(20), "W_mu": _glorot(r, 20, 5), "W_lv": _glorot(r, 20, 5)},
       "dec": {"W": _glorot(r, 5, 20), "b": np.zeros(20), "W_out": _glorot(r, 20, 30)}},
      (r.random((25, 30)) < 0.4).astype(float))
a10 = ({"alphas": 0.3 * r.standard_normal(5), "means": r.standard_normal((5, 4)),
        "icf": 0.3 * r.standard_normal((5, 10))}, r.standard_normal((60, 4)))
obs = np.where(r.random(20) < 0.1, np.nan, 1.5 * r.standard_normal(20))
obs[0] = 0.3
a11 = ({"pi": r.standard_normal(5), "A": r.standard_normal((5, 5)), "mu": np.linspace(-2, 2, 5),
        "log_sigma": 0.2 * r.standard_normal(5)}, obs)
X12 = r.standard_normal((50, 3)) + 2.5 * r.integers(-1, 2, (50, 1))
a12 = (X12[[3, 17, 29, 41]] + 0.1 * r.standard_normal((4, 3)), X12)
a13 = ({"P": 0.3 * r.standard_normal((20, 6)), "Q": 0.3 * r.standard_normal((30, 6)),
        "Y": 0.1 * r.standard_normal((30, 6)), "bu": 0.1 * r.standard_normal(20), "bi": 0.1 * r.standard_normal(30)},
       r.integers(0, 20, 60), r.integers(0, 30, 60), r.integers(1, 6, 60).astype(float))
a14 = ({"W1": _glorot(r, 8, 10), "w2": r.standard_normal(10)},
       [(r.standard_normal((n, 8)), r.integers(0, 4, n)) for n in (7, 10, 8, 12)])
base15 = r.standard_normal((16, 12))
a15 = ([_glorot(r, 12, 24), 0.1 * r.standard_normal(24), _glorot(r, 24, 8)],
       base15 + 0.2 * r.standard_normal((16, 12)), base15 + 0.2 * r.standard_normal((16, 12)))
a16 = (0.5 * r.standard_normal(21), r.standard_normal((60, 20)), np.where(r.random(60) < 0.3, 1.0, -1.0))
X17 = r.uniform(-2, 2, (35, 3))
a17 = (np.array([0.1, -0.5, -2.0, 0.2, 0.0, 0.4]), X17, np.sin(X17[:, 0]) + 0.1 * r.standard_normal(35))
a18 = ({"alpha": 0.5 * r.standard_normal(15), "b": np.array(0.1), "log_gamma": np.array(-1.0)},
       r.standard_normal((40, 6)), r.choice([-1.0, 1.0], 40), np.sort(r.permutation(40)[:15]))
X19 = r.standard_normal((50, 12))
a19 = ([np.array(0.5), 0.2 * r.standard_normal(12)], X19, X19[:, :4].sum(axis=1) + 0.5 * r.standard_normal(50))
a20 = ([(r.standard_normal((7, 7)), r.standard_normal(8)) for _ in range(4)],
       r.standard_normal((50, 6)), r.choice([-1.0, 1.0], 50))
a21 = (CRF(0.5 * r.standard_normal((6, 6)), 0.3 * r.standard_normal(6), _glorot(r, 10, 6)),
       [(r.standard_normal((n, 10)), r.integers(0, 6, n).tolist()) for n in (5, 8, 6)])
a22 = (Embeddings(0.4 * r.standard_normal((40, 12)), 0.4 * r.standard_normal((40, 12))), r.integers(0, 40, 25))
a23 = ({"policy": {"W1": _glorot(r, 6, 16), "b1": 0.1 * r.standard_normal(16), "W2": _glorot(r, 16, 4)},
        "critic": {"W1": _glorot(r, 6, 16), "w2": r.standard_normal(16)}},
       [[Transition(r.standard_normal(6), int(r.integers(4)), float(r.normal())) for _ in range(n)]
        for n in (15, 20, 10)])
net24 = [(_glorot(r, 8, 24), 0.1 * r.standard_normal(24)), (_glorot(r, 24, 6), np.zeros(6))]
a24 = (net24, [(W + 0.05 * r.standard_normal(W.shape), b.copy()) for W, b in net24],
       (r.standard_normal((32, 8)), r.integers(0, 5, 32), r.standard_normal(32),
        r.standard_normal((32, 8)), (r.random(32) < 0.1).astype(float)))
a25 = ({"h0": 0.3 * r.standard_normal(6), "log_lr": np.array(-1.0), "reward_scale": 1 + 0.2 * r.standard_normal(6)},
       r.integers(0, 6, 40).tolist(), r.standard_normal(40).tolist())
a26 = ([{"W": _glorot(r, 3, 16), "c": 0.1 * r.standard_normal(16), "S": 0.3 * _glorot(r, 16, 3),
         "T": _glorot(r, 16, 3)} for _ in range(4)], r.standard_normal((50, 6)))
a27 = ((_glorot(r, 4, 12), 0.1 * r.standard_normal(12), _glorot(r, 12, 3)),
       r.standard_normal((8, 3)), np.linspace(0.0, 1.0, 6), r.standard_normal((6, 8, 3)))
a28 = ({"edge_logits": 0.3 * r.standard_normal(50), "W0": _glorot(r, 10, 16), "W1": _glorot(r, 16, 4)},
       r.integers(0, 25, (50, 2)), r.standard_normal((25, 10)), r.integers(0, 4, 25), r.random(25) < 0.6)
scale29 = np.linspace(3.0, 0.5, 10)
a29 = (r.standard_normal((50, 10)) * scale29, 1.2 * r.standard_normal((20, 10)) * scale29)
a30 = (ParamVec(W=_glorot(r, 6, 10), v=r.standard_normal(10)),
       (r.standard_normal((30, 6)), r.standard_normal(30)), (r.standard_normal((20, 6)), r.standard_normal(20)))

PROGRAMS = [
    ("multitask_mlp", multitask_mlp, a1), ("rnn_char_loss", rnn_char_loss, a2),
    ("lstm_forecast", lstm_forecast, a3), ("gru_tagger", gru_tagger, a4),
    ("transformer_lm", transformer_lm, a5), ("batchnorm_generalisation", batchnorm_generalisation, a6),
    ("dropout_mlp", dropout_mlp, a7), ("convnet_loss", convnet_loss, a8), ("vae_loss", vae_loss, a9),
    ("gmm_nll", gmm_nll, a10), ("hmm_loglik", hmm_loglik, a11), ("soft_kmeans", soft_kmeans, a12),
    ("svdpp_loss", svdpp_loss, a13), ("lambdarank_loss", lambdarank_loss, a14), ("nt_xent", nt_xent, a15),
    ("logistic_elastic", logistic_elastic, a16), ("gp_nlml", gp_nlml, a17), ("kernel_svm", kernel_svm, a18),
    ("ridge_cv", ridge_cv, a19), ("boosted_soft_trees", boosted_soft_trees, a20), ("crf_nll", crf_nll, a21),
    ("skipgram_ns", skipgram_ns, a22), ("reinforce_loss", reinforce_loss, a23),
    ("double_dqn_loss", double_dqn_loss, a24), ("bandit_choice_nll", bandit_choice_nll, a25),
    ("realnvp_nll", realnvp_nll, a26), ("neural_ode_loss", neural_ode_loss, a27), ("gcn_loss", gcn_loss, a28),
    ("pca_novelty", pca_novelty, a29), ("unrolled_adam", unrolled_adam, a30),
]
