"""Class bodies, decorators, metaclasses, super, __class__, descriptors, annotations."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import inspect

from observe import Life, log, program


@program()
def bodies():
    m = 5

    class C:
        "Documented."
        a = m
        b = a + 1
        n = 7 if m else n
        for k in range(3):
            if k == 1:
                continue
            a += k
        else:
            done = True
        del b
        try:
            missing
        except NameError as e:
            error = str(e)
        with_locals = sorted(locals())
        x: int = 3
        y: "str"

        def method(self, k=a):
            return self.a, k

        class Inner:
            value = m
            name = __qualname__

        f = lambda self: __class__

        if a > 100:
            never = 1

    c = C()
    return (
        [(k, v) for k, v in vars(C).items() if isinstance(v, (int, str, list))],
        c.method(),
        C.Inner.value,
        C.Inner.name,
        c.f() is C,
        C.__annotations__,
        C.method.__qualname__,
    )


@program()
def unbound_names_in_bodies():
    x = "enclosing"
    log(x)
    try:

        class B:
            x = x

    except NameError as e:
        log(str(e))
    try:

        class C:
            print(y)
            y = 1

    except NameError as e:
        log(str(e))

    class D:
        z = [x]
        y = 1
        del y
        try:
            y
        except NameError as e:
            log(str(e))

    class E:
        nonlocal x
        x = "changed"

    return D.z, x, hasattr(E, "x")


@program()
def class_scopes():
    class C:
        x = 1

        def f(self):
            return x

        g = lambda: x

        class D:
            try:
                z = x
            except NameError:
                z = "none"

    global x
    x = "global"
    return C().f(), C.g(), C.D.z


@program()
def decorators():
    def named(name):
        log("made", name)

        def decorate(f):
            log("decorated", name, f)
            return f

        return decorate

    @named("a")
    @named("b")
    def f(x=log("default"), *, y: log("annotation") = log("keyword")) -> log("return"):
        return x

    @named("c")
    class C(log("base", object), metaclass=log("meta", type)):
        @staticmethod
        def s():
            return "s"

        @classmethod
        def k(cls):
            return cls.__name__

        @property
        def p(self):
            return self._p

        @p.setter
        def p(self, value):
            self._p = value

        @p.deleter
        def p(self):
            log("deleted")

    c = C()
    c.p = 4
    c.p += 1
    del c.p

    @lambda f: "replaced"
    def g():
        pass

    @(named, named)[0]("subscript")
    def h(): ...

    return f(), C.s(), c.k(), c.p, g


@program()
def a_decorator_that_fails():
    def fails(f):
        raise ValueError(f.__name__)

    @fails
    @log
    def f(
        x,
    ):
        pass


@program()
def metaclasses():
    class Meta(type):
        @classmethod
        def __prepare__(cls, name, bases, **options):
            log("prepare", name, bases, options)
            return {"prepared": 1}

        def __new__(cls, name, bases, namespace, **options):
            log("new", list(namespace), options)
            return super().__new__(cls, name, bases, namespace)

        def __init__(self, name, bases, namespace, **options):
            log("init", name)
            super().__init__(name, bases, namespace)

        def __call__(self, *args, **kwargs):
            log("call", args, kwargs)
            return super().__call__(*args, **kwargs)

    class A(metaclass=Meta, flag=True):
        y = prepared + 1

        def __init__(self, x=0):
            self.x = x

    options = {"flag": 2}
    bases = (A,)

    class B(*bases, **options):
        def m(self):
            return super().__init__(9), __class__.__name__

    return A(x=3).x, A.y, B(1).m(), isinstance(B, Meta)


@program()
def namespaces_of_their_own():
    class Space(dict):
        def __getitem__(self, key):
            log("get", key)
            return super().__getitem__(key)

        def __setitem__(self, key, value):
            log("set", key)
            super().__setitem__(key, value)

        def __delitem__(self, key):
            log("del", key)
            super().__delitem__(key)

    class Meta(type):
        def __prepare__(name, bases):
            return Space()

        def __new__(cls, name, bases, namespace):
            return super().__new__(cls, name, bases, dict(namespace))

    class C(metaclass=Meta):
        a = 1
        b = a + 1
        c = len("global")
        del a
        d = [b for b in range(2)]

    return C.b, C.c


@program()
def supers():
    class A:
        def __init__(self, x):
            self.x = x

        def m(self):
            return ["A"]

        @classmethod
        def c(cls):
            return [cls.__name__]

        @property
        def p(self):
            return "A.p"

        def __getitem__(self, k):
            return "A", k

    class B(A):
        def __init__(self, x):
            super().__init__(x + 1)
            self.y = super(B, self).m()

        def m(self):
            return ["B"] + super().m()

        @classmethod
        def c(cls):
            return ["B"] + super().c()

        @property
        def p(self):
            return super().p + "B"

        def nested(self):
            def f():
                return super(__class__, self).m(), [super(B, self).m() for _ in range(1)]

            return f()

        def subscript(self):
            return super().__getitem__(3), super()[4] if False else None

        def gen(self):
            yield super().m()

        def bound(self):
            s = super()
            return s.m(), s.__thisclass__.__name__

    class C(B):
        pass

    c = C(1)
    return c.x, c.y, c.m(), c.c(), C.c(), c.p, c.nested(), c.subscript(), list(c.gen()), c.bound()


@program((0,), (1,), (2,), (3,), (4,))
def supers_that_fail(k):
    class A:
        def no_arguments():
            super()

        def deleted(self):
            del self
            super()

        def rebound(self):
            self = 5
            super()

        def missing(self):
            super().missing_too

    def outside(self):
        super()

    if k == 0:
        A.no_arguments()
    elif k == 1:
        A().deleted()
    elif k == 2:
        A().rebound()
    elif k == 3:
        A().missing()
    outside(1)


@program()
def super_is_only_a_name():
    class A:
        def m(self):
            return "A"

    class B(A):
        def first(self):
            super = lambda *args: log("mine", len(args), A())
            return super().m(), super(1, 2).m()

        def later(self, super):
            return super().m()

        def cell(self):
            def f():
                return self

            return super().m(), f() is self

    return B().first(), B().later(A), B().cell()


@program()
def new_and_slots():
    class S:
        __slots__ = ("a", "__dict__")

        def __new__(cls, *args):
            log("new", args)
            return super().__new__(cls)

        def __init__(self, *args):
            self.a, *self.rest = args

        def __init_subclass__(cls, /, tag=None):
            super().__init_subclass__()
            cls.tag = tag

        def __set_name__(self, owner, name):
            log(owner.__name__, name)

        def __class_getitem__(cls, item):
            return cls.__name__, item

    class T(S, tag="t"):
        s = S(1, 2)

    return T(3, 4).rest, T.tag, T[int]


@program()
def private_names():
    class C:
        __x = 1

        def m(self, __y=2):
            __z = 3
            return self.__x, __y, __z, sorted(locals())

    return C().m(), sorted(k for k in vars(C) if "x" in k)


@program()
def operators():
    class V:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return log("add", V(self.v + getattr(other, "v", other)))

        __radd__ = __add__

        def __iadd__(self, other):
            log("iadd")
            self.v += 1
            return self

        def __contains__(self, x):
            return log("contains", 5)

        def __bool__(self):
            return log("bool", bool(self.v))

        def __eq__(self, other):
            return log("eq", NotImplemented)

        def __lt__(self, other):
            return log("lt", [])

        def __index__(self):
            return self.v

        def __getattr__(self, name):
            return log("getattr", name)

        def __setattr__(self, name, value):
            log("setattr", name)
            object.__setattr__(self, name, value)

        def __call__(self, *args, **kwargs):
            return args, kwargs

        def __len__(self):
            return log("len", 2)

        def __getitem__(self, k):
            log("getitem", k)
            if k == 2:
                raise IndexError
            return k

        def __enter__(self):
            return self

        def __format__(self, spec):
            return f"<{spec}>"

    a = V(1)
    b = a + 1
    c = 1 + a
    a += 5
    return (
        a.v, b.v, c.v, 3 in a, 3 not in a, not a, a == 1, a != 1, a < 2 < 3, [1, 2, 3][V(1)], a.other,
        a(1, k=2),
        [*a], f"{a:>{b.v}}", a[1:2], a[..., 1], "y" if a else "n", (a or 1) is a, (a and 1),
    )  # fmt: skip


@program()
def annotations():
    def f(a: log("a"), b: log("b") = 1, *c: log("c"), d: log("d"), **e: log("e")) -> log("r"):
        x: log("never evaluated") = 1
        y: int
        (z): int = 2
        box.attribute: log("attribute") = 3
        items[log("index", 0)]: log("item") = 4
        return x, sorted(locals())

    class box:
        pass

    items = [0]

    class C:
        a: log("class a") = 1
        b: log("class b")
        box.other: log("class attribute") = 5
        (c): int = 5

    return f(1, d=2), f.__annotations__, C.__annotations__, inspect.signature(f).parameters[
        "b"].default, items


@program()
def instances_that_end():
    class C:
        life = Life("of the class")

        def __init__(self, name):
            self.life = Life(name)

        def m(self):
            return self.life.name

    log(C("temporary").m())
    c = C("first")
    c = C("second")
    log("rebound")
    d = c
    del c
    log("deleted")
    return d.m()
