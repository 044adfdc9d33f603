"""Claims of ``VMShapeLower``: every symbolic shape is made at run time, of slots that hold the right numbers.

The lowered function is run on symbols along every way: what ``match_shape`` stores in a slot is the dim of its input's
type, ``shape_func`` computes over slots, and ``make_shape`` reads them. So a slot is known as an expression over the
symbols of the function, and each shape can be compared with the one that stood in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax, tirx

from relaxkit.ir.functions import functions_by_name, relax_functions
from relaxkit.ir.walk import places
from relaxkit.passes.claims.common import placed
from relaxkit.passes.claims.paths import ARITHMETIC, PathStep, builtin_of, number_of, symbols_of, ways
from relaxkit.passes.contract import Harm, claimed

_HEADER = "header of src/relax/backend/vm/vm_shape_lower.cc, and include/tvm/runtime/vm/builtin.h"
HEAP = "vm.builtin.alloc_shape_heap"
# include/tvm/runtime/vm/builtin.h: MatchShapeCode and MakeShapeCode
STORE_TO_HEAP, COMPARE_WITH_HEAP = 1, 3
LOAD_FROM_HEAP = 1


@dataclass(slots=True)
class Heap:
    """One heap of shapes along one way.

    Attributes:
        size: Number of slots.
        slots: What each slot that was written holds: an expression over dims, or ``None`` when that is not known.
        shapes: Shapes that were made of it, in order.
        fault: What is wrong; empty so far.
    """

    size: int
    slots: dict[int, Any] = field(default_factory=dict)
    shapes: list[list[Any]] = field(default_factory=list)
    fault: str = ""

    def read(self, slot: int) -> Any:
        """Say what a slot holds; a fault when it holds nothing."""
        if slot not in self.slots:
            self.fault = self.fault or "a slot of the shape heap is read before it is written"
        return self.slots.get(slot)

    def write(self, slot: int, value: Any) -> None:
        """Put a value into a slot; a fault when there is no such slot."""
        if not 0 <= slot < self.size:
            self.fault = self.fault or "a slot beyond the shape heap is written"
        self.slots[slot] = value


def run_on_symbols(steps: Sequence[PathStep], functions: Mapping[str, Any]) -> list[Heap]:
    """Return the heaps after a way through a lowered function, one for each run of the pass, the latest first."""
    heaps: dict[Any, Heap] = {}
    for step in steps:
        value, name = step.value, builtin_of(step.value)
        if name == HEAP:
            heaps[step.var] = Heap(int(value.args[1].fields[0].value))
        elif name in ("vm.builtin.match_shape", "vm.builtin.match_prim_value"):
            if (heap := heaps.get(value.args[1])) is not None:
                _match(heap, value.args[0], _pairs(value.args[3 if name.endswith("shape") else 2 : -1]))
        elif name in ("vm.builtin.make_shape", "vm.builtin.make_prim_value"):
            if (heap := heaps.get(value.args[0])) is not None:
                shape = name.endswith("shape")
                pairs = _pairs(value.args[2 if shape else 1 :])
                made = [heap.read(slot) if code == LOAD_FROM_HEAP else slot for code, slot in pairs]
                heap.shapes.extend([made] if shape else [])
        elif isinstance(value, relax.Call) and isinstance(value.op, relax.GlobalVar) and len(value.args) == 1:
            kernel = functions.get(str(value.op.name_hint))
            if isinstance(kernel, tirx.PrimFunc) and (heap := heaps.get(value.args[0])) is not None:
                for store in _stores_of(kernel):
                    heap.write(int(store.indices[0].value), _substituted(store.value, heap))
    return list(heaps.values())


def _pairs(arguments: Sequence[Any]) -> list[tuple[int, int]]:
    numbers = [int(argument.value) for argument in arguments]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _match(heap: Heap, value: Any, pairs: list[tuple[int, int]]) -> None:
    dims = _dims_of(value)
    for index, (code, slot) in enumerate(pairs):
        if code == STORE_TO_HEAP:
            heap.write(slot, dims[index] if dims is not None and index < len(dims) else None)
        elif code == COMPARE_WITH_HEAP:
            heap.read(slot)


def _dims_of(value: Any) -> list[Any] | None:
    """Return the dims of a tensor or shape by its type; the number itself where the value is one."""
    ty = value.ty
    if isinstance(value, relax.Var) and not isinstance(ty, (relax.TensorType, relax.ShapeType)):
        return [value]
    found = ty.values if isinstance(ty, relax.ShapeType) else getattr(getattr(ty, "shape", None), "values", None)
    return None if found is None else list(found)


def _stores_of(kernel: Any) -> Iterator[Any]:
    body = kernel.body
    for statement in body.seq if isinstance(body, tirx.SeqStmt) else [body]:
        if isinstance(statement, tirx.BufferStore):
            yield statement


def _substituted(expr: Any, heap: Heap) -> Any:
    """Return an expression over slots as one over dims; ``None`` where :func:`number_of` does not know a part."""
    if hasattr(expr, "indices"):  # a load, whose class has another name in each release
        return heap.read(int(expr.indices[0].value))
    if isinstance(expr, tirx.IntImm):
        return expr
    parts = [_substituted(part, heap) for part in _parts_of(expr)]  # reads all slots, also those of what is not known
    # A slot may hold what is no number by its type: LazyGetInput leaves values of any type where numbers were.
    if any(part is None or not isinstance(part.ty, tvm.ir.PrimType) for part in parts):
        return None
    if isinstance(expr, tirx.Cast):
        return parts[0]
    return type(expr)(*parts) if type(expr) in ARITHMETIC else None


def _parts_of(expr: Any) -> Iterator[Any]:
    for name in ("a", "b", "value", "condition", "true_value", "false_value"):
        part = getattr(expr, name, None)
        if isinstance(part, tvm.ir.Expr):
            yield part
    if isinstance(expr, relax.Call):
        yield from expr.args


@claimed("slots of the shape heap are written before they are read", _HEADER, Harm.WRONG)
def heap_misused(ran: Any) -> str:
    """Find a slot that is read before it is written, in some run, or one that the heap does not have."""
    functions = functions_by_name(ran.after)
    for name, function in relax_functions(ran.after):
        for steps in ways(function):
            for heap in run_on_symbols(steps, functions):
                if heap.fault:
                    return f"{heap.fault}\nmakes {name} use the shape heap wrongly"
    return ""


@claimed("no symbolic shape is left", _HEADER)
def symbolic_shapes_left(ran: Any) -> str:
    """Find a shape or number over dims that no instruction of the virtual machine makes."""
    for name, place in placed(ran.after):
        for value in _operands(place.value):
            if isinstance(value, relax.ShapeExpr) and not all(isinstance(dim, tirx.IntImm) for dim in value.values):
                return f"a symbolic shape is left\nleaves the symbolic shape {value} in {name}"
    return ""


def _operands(value: Any) -> Iterator[Any]:
    yield value
    for part in getattr(value, "args", None) or getattr(value, "fields", None) or ():
        yield from _operands(part)


@claimed("shapes are made of the same numbers", _HEADER, Harm.WRONG)
def shapes_differ(ran: Any) -> str:
    """Find a shape that is made of slots which hold another number than the dim that stood there, for some dims.

    Where a heap was there already, the pass ran before: it adds another one, and whose a slot is cannot be told.
    """
    made = (builtin_of(each.binding.value) for _, function in relax_functions(ran.before) for each in places(function))
    if any(name == HEAP for name in made):
        return ""
    functions, before = functions_by_name(ran.after), dict(relax_functions(ran.before))
    for name, function in relax_functions(ran.after):
        if name not in before:
            continue
        # The dims that match_casts define: each may be another name of a dim that is known already.
        casts = [each.binding.ty for each in places(before[name]) if isinstance(each.binding, relax.MatchCast)]
        cast = {str(var.name) for ty in casts for var in relax.analysis.definable_tir_vars_in_type(ty)}
        for old, new in zip(ways(before[name]), ways(function), strict=False):
            values = [value for step in old for value in _operands(step.value) if isinstance(value, relax.ShapeExpr)]
            wanted = [list(each.values) for each in values if not all(isinstance(d, tirx.IntImm) for d in each.values)]
            heaps = run_on_symbols(new, functions)
            given = heaps[0].shapes if heaps else []
            if not wanted:
                continue
            if len(given) != len(wanted):
                return f"a symbolic shape is not made\nmakes {len(given)} of {len(wanted)} symbolic shapes in {name}"
            for old_shape, new_shape in zip(wanted, given, strict=True):
                if said := _difference(old_shape, new_shape, cast):
                    return f"a shape is made of other numbers\nmakes a shape of {name} {said}"
    return ""


def _difference(old: list[Any], new: list[Any], cast: set[str]) -> str:
    """Say how two shapes differ; symbols correspond by name, as one may be a copy.

    Doubtful names decide nothing, nor do other names where one of them is a match_cast's.
    """
    if len(old) != len(new):
        return f"{new} instead of {old}"
    for one, other in zip(old, new, strict=True):
        if other is None:
            continue
        symbols = dict.fromkeys([*symbols_of(one), *symbols_of(other)])
        names = sorted({str(symbol.name) for symbol in symbols})
        if max(len(symbols_of(one)), len(symbols_of(other))) > len(names):
            continue
        ours, theirs = ({str(symbol.name) for symbol in symbols_of(each)} for each in (one, other))
        if ours != theirs and (ours | theirs) & cast:
            continue
        for low, step in ((2, 3), (5, 1), (1, 7)):
            values = {symbol: low + step * names.index(str(symbol.name)) for symbol in symbols}
            left, right = number_of(one, values), number_of(other, values)
            if left is not None and right is not None and left != right:
                return f"{new} instead of {old}"
    return ""
