"""Texts that no program of the table provokes yet. The list only gets shorter: new refusals have programs."""

UNPROVOKED = [
    (
        "the derivative of ... was taken at run time by a rule, or by no function of Python's, and "
        "cannot be differentiated again there; pass what varies as arguments of a function"
    ),
    "a block of cotangents of a sequence came as numbers, which is not followed; use jacfwd",
    "... was not differentiated; give it a rule with `custom_rule`",
    "... has star parameters and defaults that vary; pass what varies as arguments",
]
