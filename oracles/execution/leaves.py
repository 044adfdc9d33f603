"""The leaves of a value that is a tree of tuples; apart from values.py, which scripts carry whole."""

from __future__ import annotations

from typing import Any


def leaves(value: Any) -> list[Any]:
    """Everything in a tree of tuples."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]
