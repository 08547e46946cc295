"""The fourth table: scalar functions over arrays, with partial derivatives, as one fused kernel and otherwise."""
