"""Reductions of functions, bindings and calls; one idea a file."""
