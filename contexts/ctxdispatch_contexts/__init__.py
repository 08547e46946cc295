"""The contexts that come with ctxdispatch. Each subpackage stands on the engine alone.

They are found through the entry-point group `ctxdispatch.contexts`, the door any other package's contexts
come in by; nothing is imported here.
"""
