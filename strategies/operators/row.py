"""A row of the operator table: what it takes to draw one relax operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strategies.features import Feature
    from strategies.scope import Scope, Value


class Family(str, Enum):
    """What an operator is about; reports group the table by it."""

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
    """

    name: str
    family: Family
    draw: Callable[[Scope], Value | None]
    executable: bool = True
    feature: Feature | None = None
