"""Decide whether a smaller case still shows the failure."""
