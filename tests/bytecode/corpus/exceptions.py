"""try, except, except*, else, finally, raise: contexts, causes, names of handlers, places."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import sys

from observe import Life, log, program


@program((0,), (1,), (2,), (3,))
def parts(k):
    try:
        log("body")
        if k == 1:
            raise ValueError(k)
        if k == 2:
            raise KeyError(k)
        if k == 3:
            raise OSError(k)
    except (ValueError, TypeError) as e:
        log("first", e)
    except KeyError:
        log("second", sys.exc_info()[1])
    else:
        log("else")
    finally:
        log("finally", sys.exc_info()[0])
    return k


@program((0,), (1,))
def bare(k):
    try:
        1 / k
    except:
        log(sys.exc_info()[0], sys.exception() is sys.exc_info()[1])
        raise
    return "none"


@program()
def the_name_is_deleted():
    e = "before"
    try:
        raise ValueError
    except ValueError as e:
        log(e)
    log("e" in locals())
    try:
        e
    except NameError as error:
        log(str(error))
    try:
        raise ValueError
    except ValueError as e:
        e = "rebound"
    try:
        raise KeyError
    except KeyError as e:
        del e
    return e


@program()
def the_name_is_a_cell():
    try:
        raise ValueError("v")
    except ValueError as e:
        f = lambda: e
        log(f())
    return f()


@program()
def handlers_by_expression():
    def kind(k):
        log("asked", k)
        return (ValueError, KeyError, 5)[k]

    for raised in (ValueError, KeyError, OSError):
        try:
            raise raised
        except kind(0):
            log("zero")
        except kind(1):
            log("one")
        except kind(2):
            log("never")


@program()
def context_and_cause():
    try:
        try:
            raise ValueError("first")
        except ValueError as e:
            try:
                raise KeyError("second") from e
            finally:
                log("between")
    except KeyError:
        raise OSError("third")


@program((None,), (KeyError("cause"),), (5,), (KeyError,))
def raise_from(cause):
    try:
        raise ValueError
    except ValueError:
        raise TypeError("with cause") from cause


@program((5,), (None,), (ValueError,), ("text",))
def raise_what(what):
    raise what


@program()
def raise_nothing():
    raise


@program()
def reraise():
    def again():
        raise

    try:
        try:
            raise ValueError("v")
        except ValueError:
            again()
    except ValueError as e:
        log(e)
        try:
            raise e
        except ValueError as f:
            log(f is e)
            try:
                raise KeyError
            except KeyError:
                pass
            raise


@program()
def reraise_after_another():
    try:
        1 / 0
    except ZeroDivisionError:
        try:
            [][0]
        except IndexError:
            log(sys.exc_info()[0])
        log(sys.exc_info()[0])
        raise


@program()
def contexts_do_not_leak():
    try:
        raise ValueError
    except ValueError:
        pass
    log(sys.exc_info())
    for k in range(3):
        try:
            raise KeyError(k)
        except KeyError:
            if k == 1:
                break
            continue
    log(sys.exc_info())
    raise OSError("no context")


@program()
def return_within_handler():
    def f():
        for k in range(3):
            try:
                raise ValueError(k)
            except ValueError as e:
                try:
                    return log("value", e.args)
                finally:
                    log(sys.exc_info()[0])

    log(f(), sys.exc_info())


@program()
def finally_overrides():
    def returns():
        try:
            return log("body")
        finally:
            return log("finally")

    def swallows():
        try:
            1 / 0
        finally:
            return "swallowed"

    def breaks():
        for k in range(3):
            try:
                1 / 0
            finally:
                break
        return k

    def continues():
        for k in range(3):
            try:
                return "never"
            finally:
                continue
        return k

    def keeps():
        x = 1
        try:
            return x
        finally:
            x = 2

    def keeps_the_list():
        x = [1]
        try:
            return x
        finally:
            x.append(2)

    return returns(), swallows(), breaks(), continues(), keeps(), keeps_the_list()


@program()
def raised_within_finally():
    try:
        try:
            raise ValueError("body")
        finally:
            raise KeyError("finally")
    except KeyError as e:
        log(e.__context__)
    try:
        return "returned"
    finally:
        {}["missing"]


@program()
def deep():
    try:
        try:
            try:
                try:
                    1 / 0
                finally:
                    log(1)
            except KeyError:
                log("no")
            finally:
                log(2)
        except ZeroDivisionError:
            log(3)
            try:
                raise ValueError
            except ValueError:
                log(4)
                raise KeyError from None
            finally:
                log(5)
        else:
            log("no")
    except KeyError as e:
        log(6, e)
    finally:
        try:
            log(7)
        finally:
            log(8)


@program((0,), (1,), (2,))
def loops_within(k):
    while True:
        try:
            for i in range(5):
                try:
                    if i == k:
                        raise StopIteration(i)
                    if i == 1:
                        continue
                    log(i)
                except StopIteration:
                    break
                else:
                    log("else", i)
                finally:
                    log("inner", i)
            else:
                log("exhausted")
            return i
        finally:
            log("outer")


@program()
def groups():
    def f(raised):
        try:
            raise raised
        except* ValueError as e:
            log("values", e.exceptions)
        except* (KeyError, TypeError) as e:
            log("keys", e.exceptions)
            raise OSError("new")
        else:
            log("else")
        finally:
            log("finally")

    G = ExceptionGroup
    f(ValueError("bare"))
    f(G("g", [ValueError(1), ValueError(2)]))
    f(G("g", [ValueError(1), G("h", [ValueError(2)])]))
    try:
        f(G("g", [ValueError(1), KeyError(2), IndexError(3)]))
    except ExceptionGroup as e:
        log(e.exceptions, e.__context__)
    f(G("g", [ValueError(1), G("h", [OSError(2), ValueError(3)])]))


@program()
def groups_reraised():
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
        except* ValueError:
            raise
        except* KeyError as e:
            raise e
    except ExceptionGroup as e:
        log(e.message, e.exceptions)
    try:
        pass
    except* ValueError:
        log("no")
    for k in range(2):
        try:
            raise ValueError(k)
        except* ValueError as e:
            for j in range(3):
                if j == 1:
                    break
            log("e" in locals())
        log("e" in locals())
    try:
        raise ValueError
    except* ExceptionGroup:
        log("refused")


@program((lambda: [1, 2][5],), (lambda: {}["k"],), (lambda: None.x,), (lambda: "a" + 1,))
def places_in_callees(f):
    x = (
        1,
        f(),
    )
    return x


@program((0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (9,))
def places(k):
    a = None
    if k == 0:
        return a.b.c
    elif k == 1:
        return a[0][
            1
        ]
    elif k == 2:
        return -(
            a
        )
    elif k == 3:
        a.x = 5
    elif k == 4:
        a[k] = \
            k
    elif k == 5:
        a += 1
    elif k == 6:
        return max(1,
                   a)
    elif k == 7:
        x, y = a
    elif k == 8:
        for z in a:
            pass
    else:
        with a as b:
            return b


@program((0,), (1,), (2,), (3,), (4,), (5,))
def places_in_operators(k):
    a, b = 1, "b"
    return (
        a < b if k == 0
        else a in 5 if k == 1
        else a + b * 2 if k == 2
        else (a and b)(1) if k == 3
        else 0 < a < b if k == 4
        else [a,
              *a]
    )


@program()
def lifetimes():
    def fails():
        life = Life("in the frame")
        raise ValueError

    try:
        fails()
    except ValueError as e:
        log("handler")
    log("after")
    try:
        fails()
    except ValueError:
        log("handler")
    log("after")


@program()
def notes_and_tracebacks():
    e = ValueError("noted")
    e.add_note("a note")
    try:
        raise e
    except ValueError as f:
        log(f.__traceback__.tb_lineno - sys._getframe().f_code.co_firstlineno)
        raise f.with_traceback(None)


@program()
def assertions():
    assert True, log("never")
    assert (1, 2)
    try:
        assert [] == [1], log("message")
    except AssertionError as e:
        log(e)
    x = 3
    assert x and x > 2 or log("no")
    assert 2 < x < 4
    assert (
        x
        == 4
    ), f"x is {x}"


@program()
def unwinding_the_stack():
    """Exceptions where values of expressions, iterators and handlers lie on the stack."""
    def bad():
        raise ValueError

    for a in [1]:
        for b in [2]:
            try:
                for c in [3]:
                    x = [a, b, *(c, bad())] + [{1: 2, 3: bad()}]
            except ValueError:
                log(a, b, c)
                try:
                    log(1, 2, f"{a}{bad()}")
                except ValueError:
                    continue
            finally:
                log("finally", a)
    return "end"


@program()
def keyboard_and_exit():
    try:
        raise SystemExit(3)
    except Exception:
        log("no")
    except BaseException as e:
        log(e)
    raise KeyboardInterrupt
