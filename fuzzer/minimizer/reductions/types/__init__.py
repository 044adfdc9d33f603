"""Reductions of types, dims, values and attributes; one idea a file."""
