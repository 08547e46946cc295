"""CPython's own test suite as the judge of the rewriter: `python -m tests.conformance --help`.

An import hook rewrites every code object of the standard library, of `unittest` and of the test modules
themselves; CPython's `test` package then runs on what came out.  A test that passes with the same loader but
without the rewriting (mode "plain"), and does not with it, is a fault of the rewriter, unless `expected.toml`
says why it legitimately differs.

    catalog   which test modules               hook      the import hook
    modes     what is done to a code object    purge     what must be imported anew
    child     one test module, one process     events    what happens in it
    nursery   forks the processes              runner    many of them, in parallel
    store     results on disk                  compare   mode against plain
    expected  what may differ, and why         report    the tables
"""
