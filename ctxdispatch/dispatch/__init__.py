"""Contexts and the engine that runs functions under them."""

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch import cache
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.edit import Editor
from ctxdispatch.dispatch.hidden import HiddenRuleWarning
from ctxdispatch.dispatch.hooks import undispatched
from ctxdispatch.dispatch.overdub import NativeCallWarning, fallback, overdub, recurse
from ctxdispatch.dispatch.rules import AmbiguousRule, subscribe, version
from ctxdispatch.dispatch.tagging import Tagging
from ctxdispatch.dispatch.tags import metadata, tag, untag

__all__ = [
    "Context", "Tagging", "overdub", "recurse", "fallback", "tag", "untag", "metadata", "Editor",
    "undispatched", "AmbiguousRule", "HiddenRuleWarning", "NativeCallWarning", "UnsupportedSyntax", "cache",
    "subscribe", "version",
]  # fmt: skip
