"""Programs as one straight line: what one run did, and what has to hold for another to do the same.

Many programs have no SSA form that says what their values are (objects of many classes, dispatch by text,
deques, coroutines, recursion), and yet do the same operations on numbers each time. A *trace* of a run is a
function of the same arguments with those operations alone: the lists, objects and loops that the run made are
gone. Before it runs, `Trace.holds` looks whether all that the run has read is as it was; within it, each
decision that a number made is tested again. Where one is made otherwise, the trace is left, and nothing has
happened yet: a trace changes nothing that was there before it. (Tracing compilers: Bala, Duesterwald and
Banerjia, "Dynamo", 2000; Bolz et al., "Tracing the meta-level", 2009.)

Read `straight.py` (when a function is traced), `tracer.py` (the context that watches the run), `run.py` (what
it does at each operation), `checks.py` (what it asks before), `operands.py` (which operands are values),
`names.py`, `rules.py`, `going_through.py` (operations with a way of their own), `origins.py` (what was there
before), `changes.py` (what of that changes for a while), `lines.py` (the lines of the function), `kinds.py`.
"""
