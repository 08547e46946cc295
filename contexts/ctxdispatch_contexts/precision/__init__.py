"""A program in two precisions, side by side: where digits are lost."""

from ctxdispatch_contexts.precision.context import PrecisionContext, side_by_side
from ctxdispatch_contexts.precision.losses import Divergence, Loss, Losses
from ctxdispatch_contexts.precision.pair import Pair

__all__ = ["Divergence", "Loss", "Losses", "Pair", "PrecisionContext", "side_by_side"]
