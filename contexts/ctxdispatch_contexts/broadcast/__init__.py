"""Broadcast mixed mode: scalar functions over arrays as fused kernels, differentiated by duals inside."""
