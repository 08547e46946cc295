"""Objects, lists and dicts that cells and globals hold: what they hold is read at each call, whatever it is
by then, and what a run does to them is done. Compiled as far as it stays as it is; right always."""

import textwrap

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.entry import compiled

rs = np.random.RandomState(0)
X = rs.randn(3, 2)
W, V, D = rs.randn(2, 2), rs.randn(2, 2), rs.randn(3, 2)

SOURCE = """
import numpy as np

class Layer:
    bias = 0.5
    def __init__(self, w): self.w = w
    def __call__(self, h): return np.tanh(h @ self.w) + self.bias
    def forward(self, h): return np.sin(h @ self.w)
    @classmethod
    def shifted(cls, h): return h * h + cls.bias
    @staticmethod
    def halved(h): return h * 0.5

class Scale:
    def __init__(self, k): self.k = k
    def __call__(self, h): return h * self.k
    def forward(self, h): return h + self.k
    @classmethod
    def shifted(cls, h): return np.exp(h)
    halved = np.sin

class Slot(Scale):
    __slots__ = "k"
    bias = 1.5

class Lazy(Layer):
    def __init__(self): pass
    def __getattr__(self, name): return W * 0.5 if name == "w" else object.__getattribute__(self, name)

class Seven(dict):
    def __getitem__(self, key): return 7.0

class Net:
    def __init__(self, *layers):
        self.layers, self.head, self.config = list(layers), layers[0], {"scale": 2.0, "act": np.tanh}
    def __call__(self, h):
        for layer in self.layers:
            h = layer(h)
        return h
    def forward(self, h):
        return self.config["act"](self.head.forward(h)) * self.config["scale"]

net = Net(Layer(W.copy()), Layer(V.copy()))

def looped(x): return np.sum(net(x))
def by_methods(x): return np.sum(net.forward(x))
def by_index(x): return np.sum(net.layers[0](x) * net.layers[-1].forward(x))
def by_keywords(x):
    def f(scale, act, x): return np.sum(act(x) * scale)
    return f(**net.config, x=x)
def all_values(x):
    s = 0.0
    for value in net.config.values():
        s = s + (value(x) if callable(value) else value * x)
    return np.sum(s)
def by_methods_of_classes(x): return np.sum(net.head.halved(net.head.shifted(x)) * Layer.shifted(x))
def of_the_class(x): return np.sum(x * Layer.bias * net.head.bias)
"""
PROGRAMS = "looped by_methods by_index by_keywords of_the_class by_methods_of_classes all_values".split()
CHANGES = {
    "other weights": "net.head.w = V * 2.0; net.layers[1].w = W * 3.0",
    "in place": "net.head.w *= 2.0; net.layers[1].w[0] = 1.0",
    "another dtype": "net.head.w = V.astype(np.float32); net.config['scale'] = np.float32(3.0)",
    "another rank": "net.head.w = np.array([[1.0], [2.0]]); net.layers.pop()",
    "a number": "net.config['scale'] = 3; Layer.bias = 2",
    "an array": "net.config['scale'] = np.array([1.0, 2.0]); Layer.bias = np.array([3.0, 4.0])",
    "a method": "Layer.__call__ = lambda self, h: h @ self.w; Layer.forward = Layer.__call__",
    "a method of a class": "Layer.shifted = classmethod(lambda cls, h: h * cls.bias)",
    "no method of a class": "Layer.shifted = lambda h: h * 3.0; Layer.halved = lambda self, h: h @ self.w",
    "hidden": "net.head.forward = lambda h: h * 3.0; net.head.bias = 7.0",
    "a function": "net.config['act'] = np.cos",
    "a closure": "net.config['act'] = (lambda k: lambda h: h * k[0])([5.0])",
    "another layer": "net.layers[1] = Scale(3.0); net.head = Scale(2.0)",
    "more layers": "net.layers.append(Scale(2.0)); net.layers.append(Layer(W))",
    "fewer": "del net.layers[0]",
    "a tuple": "net.layers = tuple(net.layers)",
    "another dict": "net.config = {'act': np.sin, 'scale': 4.0}",
    "another key": "net.config['more'] = 3.0",
    "another order": "net.config['scale'] = net.config.pop('scale')",
    "a property": "Layer.w = property(lambda self: self.__dict__['w'] * 2.0)",
    "computed": "read = object.__getattribute__; "
    "Layer.__getattribute__ = lambda s, n: read(s, n) * 2.0 if n == 'w' else read(s, n)",
    "another class": "net.head.__class__ = type('Half', (Layer,), "
    "{'__call__': lambda s, h: h * 0.5, 'forward': lambda s, h: h * 0.25})",
    "a subclass of list": "net.layers = type('Twice', (list,), "
    "{'__iter__': lambda s: iter([*list.__iter__(s)] * 2)})(net.layers)",
    "a subclass of dict": "net.config = Seven(net.config)",
    "a slot": "net.head = Slot(2.0); net.layers[0] = Slot(0.5)",
    "no attribute of its own": "net.head = Lazy(); net.layers.append(Lazy())",
    "another net": "net = Net(Scale(2.0), Layer(V))",
    "another class of net": "net.__class__ = type('Other', (Net,), "
    "{'forward': lambda s, h: h * 2.0, '__call__': lambda s, h: h * 3.0})",
}


def in_globals():
    space = {"W": W, "V": V, "__name__": __name__}
    exec(SOURCE, space)
    return space


def in_cells():
    """The variables are those of a function around."""
    lines = [f"if text == {text!r}:\n    {text}" for text in CHANGES.values()]
    change = textwrap.indent("\n".join(["nonlocal net", *lines]), "    ")
    body = textwrap.indent(f"{SOURCE}\ndef change(text):\n{change}\nreturn locals()", "    ")
    space = {"W": W, "V": V, "__name__": __name__}
    exec(f"def around():\n{body}", space)
    return space["around"]()


def change(space, text):
    space["change"](text) if "change" in space else exec(text, space)


def central(f, x, h=1e-6):
    out = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = h
        out[at] = (f(x + step) - f(x - step)) / (2.0 * h)
    return out


def reverse(f, x):
    return grad(f)(x)


def forward(f, x):
    return jvp(f, (x,), (D,))[1]


MODES = pytest.mark.parametrize("mode", [reverse, forward])
PLACES = pytest.mark.parametrize("made, mode", [(in_globals, reverse), (in_cells, forward)])


@pytest.mark.every(2)
@PLACES
@pytest.mark.parametrize("change_", CHANGES)
def test_what_changes_between_calls(made, change_, mode):
    space = made()
    functions = [space[name] for name in PROGRAMS]
    for f in functions:
        mode(f, X)
    change(space, CHANGES[change_])
    for f in functions:
        try:
            f(X)
        except Exception as error:
            with pytest.raises(type(error)):
                mode(f, X)
            continue
        want = central(f, X)
        assert np.allclose(mode(f, X), want if mode is reverse else np.sum(want * D), atol=1e-5), f.__name__


SEQUENCES = [
    ["a closure", "another dict", "a closure"],
    ["hidden", "a method", "another class"],
    ["more layers", "fewer", "another layer"],
    ["another layer", "another net", "a property"],
    ["a number", "an array", "a subclass of dict"],
    ["another key", "another order", "a tuple"],
    ["another rank", "another dtype", "a slot"],
    ["no attribute of its own", "other weights", "in place"],
]


@pytest.mark.every(2)
@PLACES
@pytest.mark.parametrize("names", SEQUENCES, ids=lambda names: names[0])
def test_one_change_after_the_other(made, names, mode):
    """Each program is called before and after, and once more."""
    space = made()
    functions = [space[name] for name in PROGRAMS]
    for text in ["", *[CHANGES[name] for name in names]]:
        change(space, text) if text else None
        for f in functions * 2:
            try:
                want = central(f, X)
            except Exception as error:
                with pytest.raises(type(error)):
                    mode(f, X)
                continue
            want = want if mode is reverse else np.sum(want * D)
            assert np.allclose(mode(f, X), want, atol=1e-5), f.__name__


@pytest.mark.every(3)
@pytest.mark.parametrize("made", [in_globals, in_cells])
def test_they_are_compiled(made):
    space = made()
    for name in PROGRAMS[:-1]:  # the last one's items have no common type
        f = space[name]
        before = compiled.get(f.__qualname__, 0)
        assert np.allclose(grad(f)(X), central(f, X), atol=1e-6)
        assert compiled.get(f.__qualname__, 0) == before + 1, name


# -- what a run does to them ---------------------------------------------------------------------------------

RUNS = {
    "counted": "net.calls = getattr(net, 'calls', 0) + 1; y = net(x) * net.calls",
    "weights": "net.head.w = net.head.w * 2.0; y = net(x)",
    "weights after": "y = net(x); net.head.w = net.head.w * 2.0; y = y * net(x)",
    "in place": "net.head.w *= 2.0; y = net(x)",
    "after": "y = net(x); net.head.w[0, 0] = 5.0",
    "between": "y = net(x); net.head.w[0, 0] += 1.0; y = y * net(x)",
    "kept": "net.last = net(x); y = net.last * x",
    "kept in dict": "net.config['last'] = net(x); y = net.config['last'] * net.config['scale']",
    "a longer list": "net.layers.append(Scale(2.0)); y = net(x)",
    "a shorter list": "last = net.layers.pop(); y = net(x) * last.w[0]",
    "turned": "net.layers.reverse(); y = net(x)",
    "an item": "net.layers[0] = Scale(float(len(net.layers))); y = net(x)",
    "a method": "net.head.forward = np.cos; y = net.forward(x)",
    "of the class": "Layer.bias = Layer.bias * 2.0; y = x * net.head.bias + Layer.bias",
    "its type": "y = x * Layer.bias; Layer.bias = np.array([1.0, 2.0]); y = y * Layer.bias * net.head.bias",
    "a global": "y = net(x); replace(); y = y * net(x)",
    "out of sight": "y = net(x); list(map(double, [net.head])); y = y * net(x)",
    "sorted": "net.layers.sort(key=lambda l: -l.w[0, 0]); y = net(x)",
    "a key": "del net.config['act']; y = x * len(net.config); net.config['act'] = np.cos",
    "updated": "net.config.update(scale=x[0]); y = net.forward(x)",
    "over": "y = [*map(net, [x])][0]",
}
MORE = """
def replace():
    global net
    net = Net(Scale(2.0), Layer(V))
def double(layer): layer.w = layer.w * 2.0
def f(x):
    {}
    return np.sum(y)
"""


def state(value):
    """What an object holds, as text."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}{[*map(state, value)]}"
    own = vars(value) if type(value).__module__ == __name__ else None
    fields = value if isinstance(value, dict) else own
    held = None if fields is None else {name: state(each) for name, each in fields.items()}
    return repr(value) if held is None else f"{type(value).__name__}{held}"


def made_for(run, calls):
    """After so many calls."""
    space = in_globals()
    exec(MORE.replace("{}", RUNS[run]), space)
    for _ in range(calls):
        space["f"](X)
    return space


@pytest.mark.every(1)
@MODES
@pytest.mark.parametrize("run", RUNS)
def test_what_changes_meanwhile(run, mode):
    """Each call finds what the last one has left."""
    ours = made_for(run, 0)
    for calls in range(2):
        want = central(lambda x, calls=calls: made_for(run, calls)["f"](x), X)
        found = mode(ours["f"], X)
        assert np.allclose(found, want if mode is reverse else np.sum(want * D), atol=1e-5)
        assert state(ours["net"]) == state(made_for(run, calls + 1)["net"])
