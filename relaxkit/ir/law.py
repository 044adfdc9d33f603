"""Laws of operators: two expressions that compute the same, where a condition on types and attributes holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

TUPLE = "tuple"


class On(NamedTuple):
    """A pattern: a call of one of some operators, separated by blanks, which the law finds under the name ``call``.

    A name among its operands stands for a tensor of known dims or for a shape, the same one each time. ``TUPLE`` in
    the place of operators stands for a tuple of the operands.
    """

    operators: str
    operands: tuple[On | str, ...]
    call: str


class Called(NamedTuple):
    """A call that a pattern has found."""

    op: Any
    attrs: Any


@dataclass(frozen=True, slots=True)
class Law:
    """An equality that a proof may use: of a pattern, and of an expression over what it has named.

    Attributes:
        name: The law in words.
        right: Builds what it equals; takes operands as variables with their types, and calls, all by name. An
            expression, or for kernels a module whose only Relax function has operands as parameters.
        condition: Says of the same whether the law holds; ``None``: wherever both sides have one type.
        source: What establishes it.
        exact: Whether it holds to the bit; else in real arithmetic, so that floats are rounded in another order.
    """

    name: str
    left: On
    right: Callable[[Any], Any]
    condition: Callable[[Any], bool] | None = None
    source: str = "elements are moved, and none is computed otherwise"
    exact: bool = True
