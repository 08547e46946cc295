"""Fused elementwise kernels."""
