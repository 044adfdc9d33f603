"""Meaning of the operators, one file a family; each registers its functions by ``semantics``."""
