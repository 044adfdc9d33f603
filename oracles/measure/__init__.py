"""Inputs, tolerances and comparisons of numbers."""
