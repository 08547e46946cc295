"""Texts that no program of the table provokes yet. The list only gets shorter: new refusals have programs."""

UNPROVOKED = [
    ("... assigns to ..., a variable of the function around it (`nonlocal`); return the new value instead"),
    "a closure with a variable that is not bound yet was called; assign it before the call",
    (
        "a derivative of ... is taken by recording its run (it changes things in place, or calls what "
        "only run time knows), and is to be differentiated once more by a program, at run time; call it "
        "from the function that is differentiated itself"
    ),
    (
        "the derivative of ... was taken at run time by a rule, or by no function of Python's, and "
        "cannot be differentiated again there; pass what varies as arguments of a function"
    ),
    (
        "... changed while the function ran, and its derivative does not follow; change it before or "
        "after the call, or pass what changes as an argument"
    ),
    "an operator of ... is decided by ..., its right operand; write the call of the method out",
    (
        "... is given a function, or an option, that is not known before run time; make it where it is "
        "given, or give a function of the module, and write options out"
    ),
    (
        "... of (...) has no derivative rule; give it one with `custom_rule`, or keep its arguments out "
        "of the derivative with `stop_gradient`"
    ),
    (
        "... has no derivative rule: ...; write its code out, or give it one with `custom_rule`, or "
        "keep its arguments out of the derivative with `stop_gradient`"
    ),
    (
        "a variable that an inner function reads, and that depends on what is differentiated, is "
        "assigned where the derivative does not follow it (a function that calls itself, or one kept in "
        "a list); give the inner function what it needs as arguments, or make it a function of the "
        "module"
    ),
    (
        "the attribute ... of ... is given a value that depends on what is differentiated, and may be "
        "read again before the end; return the value, or assign `stop_gradient(...)` of it"
    ),
    (
        "attribute ... of this ... hides the method of its class; give the attribute another name, or "
        "put the function on the class"
    ),
    (
        "... changes data (...) in place that the derivative of line ... still needs as it was; store "
        "into a copy (`x = x.copy()`) made before"
    ),
    (
        "a function with star parameters and defaults that depend on what is differentiated was called; "
        "pass what varies as arguments"
    ),
    "a block of cotangents of a sequence came as numbers, which is not followed; use jacfwd",
    (
        "the pullback of the rule for ... gave no cotangent for a differentiated keyword argument; give "
        "one per argument, those of keyword arguments last, or pass the argument by position"
    ),
    "... was not differentiated; give it a rule with `custom_rule`",
    "there is no source of this block; give `insert_grad_of` a function, insert_grad_of(x, hook)",
    (
        "... has no derivative with respect to its argument ... (...); keep that one out of the "
        "derivative with `stop_gradient`, or give the function a rule with `custom_rule`"
    ),
    (
        "... (in place) writes into an array (out=) what depends on what is differentiated, which is "
        "not supported yet; use its result instead"
    ),
    (
        "the tangent of argument ... has ... dimensions and dtype ..., the argument ... and ...; a "
        "tangent has shape and dtype of its value, and one axis before"
    ),
    (
        "the tangent of argument ... has ... dimensions and dtype ..., the argument ... and ...; a "
        "tangent has shape and dtype of its value"
    ),
    "... has star parameters and defaults that vary; pass what varies as arguments",
    (
        "... has no derivative rule, and calls ..., whose result depends on what is differentiated; "
        "give it one with `custom_rule`, or have the function return `stop_gradient`"
    ),
    ("what ....... calls stores into an array that is differentiated; have it make an array of its own"),
    (
        "....... has first derivatives only; take the second ones of the objective, or by differences "
        "of the first"
    ),
    "there is no derivative of r_ and c_ where they make a matrix...; join arrays instead",
]
