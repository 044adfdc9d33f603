"""Isolated processes, and what is left of one that died."""
