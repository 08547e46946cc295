"""The fourth table: functions of numbers over arrays, with partial derivatives, as kernels and otherwise."""
