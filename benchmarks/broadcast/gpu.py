"""The columns on a GPU, where CuPy and a device are there. A call ends when the device is done.

cupy           value and partial derivatives by hand, one CuPy operation at a time
seven kernels  reverse mode as the paper has it: the forward and the reverse pass in fused kernels
ours on GPU      our kernel over CuPy's arrays
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ..peers import Prepared
from .peers import flat, with_names

if TYPE_CHECKING:
    from .workloads import Broadcast

COLUMNS = ("cupy", "seven kernels", "ours on GPU")


@cache
def cupy() -> Any:
    """The module, or None where there is no device."""
    try:
        import cupy

        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # not installed, or no driver
        return None


def by_hand(workload: Broadcast) -> Prepared | None:
    return cupy() and prepared(workload, with_names(workload.by_hand, np=cupy()))


def ours(workload: Broadcast) -> Prepared | None:
    from . import ours

    return cupy() and prepared(workload, ours.partials(workload).call)


def seven_kernels(workload: Broadcast) -> Prepared | None:
    return cupy() and prepared(workload, reverse_update())


def prepared(workload: Broadcast, call: Callable[..., Any]) -> Prepared:
    args = tuple([cupy().asarray(a) for a in workload.args()])
    stream = cupy().cuda.get_current_stream()

    def to_the_end(*args: Any) -> Any:
        result = call(*args)
        stream.synchronize()
        return result

    return Prepared(to_the_end, args, lambda result: tuple([cupy().asnumpy(a) for a in flat(result)]))


# -- reverse mode of the cell update, in seven kernels (Revels et al. 2018, section 3.2.2) -------------------

SIGMOID = "s = 0.5f + 0.5f * tanhf(0.5f * x)"
FLAGS = "bool flush = z1 != 0, update = !flush && z2 == 1;"


@cache
def reverse_kernels() -> dict[str, Any]:
    """The forward pass stores both sigmoids and tanh; the reverse pass reads them, a kernel a derivative.
    That of c stores the value too."""

    def kernel(inputs: str, outputs: str, body: str, name: str) -> Any:
        named = [", ".join(f"float32 {a}" for a in names.split()) for names in (inputs, outputs)]
        return cupy().ElementwiseKernel(*named, body, name)

    return {
        "sigmoid": kernel("x", "s", SIGMOID, "cell_sigmoid"),
        "tanh": kernel("x", "t", "t = tanhf(x)", "cell_tanh"),
        "g": kernel("si tg z1 z2", "dg",
                    f"{FLAGS} dg = flush || update ? si * (1 - tg * tg) : 0.0f", "cell_g"),
        "i": kernel("si tg z1 z2", "di",
                    f"{FLAGS} di = flush || update ? tg * si * (1 - si) : 0.0f", "cell_i"),
        "f": kernel("sf c z1 z2", "df", f"{FLAGS} df = update ? c * sf * (1 - sf) : 0.0f", "cell_f"),
        "c": kernel("sf si tg c z1 z2", "dc y",
                    f"{FLAGS} dc = update ? sf : flush ? 0.0f : 1.0f; "
                    "y = dc * c + (flush || update ? si * tg : 0.0f)", "cell_c"),
    }  # fmt: skip


def reverse_update() -> Callable[..., Any]:
    run = reverse_kernels()

    def value_and_partials(c: Any, f: Any, i: Any, g: Any, z1: Any, z2: Any) -> Any:
        si, tg, sf = run["sigmoid"](i), run["tanh"](g), run["sigmoid"](f)
        dg, di, df = run["g"](si, tg, z1, z2), run["i"](si, tg, z1, z2), run["f"](sf, c, z1, z2)
        dc, y = run["c"](sf, si, tg, c, z1, z2)
        return y, (dc, df, di, dg)

    return value_and_partials
