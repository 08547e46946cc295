"""Derivatives compared in one run: ours, written by hand, and the peers'. `python -m benchmarks --help`."""
