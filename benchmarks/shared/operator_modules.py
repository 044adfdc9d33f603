"""One-operator modules: a row of the table drawn alone into a function, to compare what an operator gives."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from tvm import relax

from strategies.operators import OPERATORS, OperatorRow
from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, ModuleFrame
from strategies.scope.from_bytes import draw_from_bytes
from strategies.scope.scope import Infeasible, Scope

T = TypeVar("T")

ROW = {row.name: row for row in OPERATORS}
ALL = frozenset(Feature) - {Feature.VDEVICE, Feature.DEVICE_HINTS, Feature.VAGUE_OPERANDS}


@dataclass(frozen=True, slots=True)
class Alone:
    """A module with one drawn row.

    Attributes:
        module: The module; its function is ``main``.
        values: The values that it returns, with their types and bounds.
    """

    module: Any
    values: tuple[Any, ...]


def draw_alone(row: OperatorRow, seed: int, executable: bool = True) -> Alone | None:
    """Draw ``row`` into a function of its own that returns all it bound; ``None`` when the row refuses."""
    return draw_chain((row.name,), seed, executable)


def draw_chain(names: tuple[str, ...], seed: int, executable: bool = True) -> Alone | None:
    """Draw rows one after the other into one function, each of the values of those before it."""
    return draw_from_bytes(_chains(names, executable), random.Random(seed).randbytes(2048))


@functools.cache
def _chains(names: tuple[str, ...], executable: bool) -> st.SearchStrategy[Alone | None]:
    rows = [ROW[name] for name in names]
    return st.composite(lambda draw: _chain(rows, draw, executable))()


def _chain(rows: Sequence[OperatorRow], draw: Any, executable: bool) -> Alone | None:
    def body(scope: Scope) -> list[Any]:
        made = []
        for row in rows:
            with contextlib.suppress(Infeasible):
                made.append(row.draw(scope))
        return [value for value in made if value is not None]

    made, alone = scope_of(draw, ALL, executable, body)
    return alone if made else None


def scope_of(draw: Any, features: frozenset[Feature], executable: bool, body: Callable[[Scope], T]) -> tuple[T, Alone]:
    """What ``body`` makes of the scope of a function, and the module of that function, which returns all it bound."""
    builder = relax.BlockBuilder()
    frame = FunctionFrame()
    scope = Scope(draw, ModuleFrame(builder, features, executable), frame)
    builder.begin_scope([])
    builder._begin_binding_block()
    made = body(scope)
    block = builder._end_block()
    builder.end_scope()
    params = [parameter.expr for parameter in frame.parameters]
    known = {parameter.expr for parameter in frame.parameters}
    shown = tuple(v for v in scope.values if v.expr not in known and _returnable(v))
    if not shown and isinstance(made, list):
        shown = tuple(made)
    sequence = relax.SeqExpr([block], relax.Tuple([v.expr for v in shown]))
    func = relax.Function(params, sequence, relax.TupleType([v.ty for v in shown]))
    module = builder.get()
    module["main"] = func.with_attr("global_symbol", "main")
    return made, Alone(relax.transform.Normalize()(module), shown)


def _returnable(value: Any) -> bool:
    """A tensor whose shape is a bound shape value has a type that means nothing outside the function."""
    return not (isinstance(value.ty, relax.TensorType) and isinstance(value.ty.shape, relax.Var))
