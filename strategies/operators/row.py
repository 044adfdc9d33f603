"""A row of the operator table: what it takes to draw one relax operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from strategies.operators.intervals import Rule
from strategies.scope.features import Feature
from strategies.scope.scope import Scope, Value

Draw = Callable[[Scope], "Value | None"]
"""Draws a call and gives its value; ``None`` when the scope forbids the operator."""


class OperatorFamily(str, Enum):
    """The theme of an operator; reports group the table by it."""

    UNARY = "unary"
    BINARY = "binary"
    COMPARISON = "comparison"
    LOGICAL = "logical"
    BITWISE = "bitwise"
    REDUCE = "reduce"
    SCAN = "scan"
    SEARCH = "search"
    CREATE = "create"
    DATATYPE = "datatype"
    SHAPE = "shape"
    INDEX = "index"
    SCATTER = "scatter"
    LINALG = "linalg"
    CONV = "conv"
    POOL = "pool"
    NORM = "norm"
    ACTIVATION = "activation"
    ATTENTION = "attention"
    LOSS = "loss"
    IMAGE = "image"
    VISION = "vision"
    QUANTIZE = "quantize"
    GRADIENT = "gradient"
    INSPECT = "inspect"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One relax operator as the generator knows it.

    Attributes:
        name: Name in TVM's registry, ``relax.add``.
        family: The group it belongs to.
        draw: Draws operands from the scope and attributes over their legal ranges, emits the call (and the guards it
            needs) and returns the value to use further on; ``None`` when the scope forbids the operator.
        executable: Whether the minimal reference pipeline compiles and CodeGenVM runs what ``draw`` emits.
        feature: A feature that must be on for this row to be drawn, or ``None``.
        bounds: What bounds the results of a call that was not drawn; ``None`` where nothing can be said.
    """

    name: str
    family: OperatorFamily
    draw: Draw
    executable: bool = True
    feature: Feature | None = None
    bounds: Rule | None = None


class Rows(list[OperatorRow]):
    """The operators of one family, and some of others, in the order in which choices shrink."""

    def __init__(self, family: OperatorFamily, rows: Iterable[OperatorRow] = ()) -> None:
        super().__init__(rows)
        self.family = family

    def row(self, name: str, family: OperatorFamily | None = None, **more: Any) -> Callable[[Draw], Draw]:
        """Make the function below draw an operator, by its name without ``relax.``; see :class:`OperatorRow`."""

        def add(draw: Draw) -> Draw:
            self.append(OperatorRow(f"relax.{name}", family or self.family, draw, **more))
            return draw

        return add
