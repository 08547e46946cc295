"""Rigorous enclosures: what a program computes for all numbers of an interval, rounding errors included."""

from ctxdispatch_contexts.intervals.context import IntervalContext, enclose
from ctxdispatch_contexts.intervals.interval import Interval
from ctxdispatch_contexts.intervals.refusals import IntervalError

__all__ = ["Interval", "IntervalContext", "IntervalError", "enclose"]
