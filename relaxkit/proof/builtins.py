"""Functions of the virtual machine: the shape heap, captured graphs, and operators under their names at run time.

Codes and orders of arguments are those of ``include/tvm/runtime/vm/builtin.h`` and ``src/runtime/vm/builtin.cc``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from relaxkit.ir.walk import nodes
from relaxkit.proof.calls import Calls
from relaxkit.proof.dims import DimTable
from relaxkit.proof.memory import Refuted, Tensor
from relaxkit.proof.terms import Open, Term, Terms
from relaxkit.proof.values import Closure, Kernel, ShapeHeap, TupleValue, Value

_STORE_TO_HEAP = 1
_LOAD_FROM_HEAP = 1
_PREFIX = "vm.builtin."
_CHECKS = frozenset(f"check_{kind}_info" for kind in ("tensor", "shape", "prim_value", "tuple", "func"))
_OPERATORS = {"shape_of": "relax.shape_of", "tensor_to_shape": "relax.tensor_to_shape", "reshape": "relax.reshape"}
"""Operators by their function; neither has attributes or type arguments."""


class Builtins(Calls):
    """The part of an evaluator that knows the virtual machine."""

    def __init__(self, terms: Terms, shapes: dict[Term, tuple[Term, ...]], dims: DimTable) -> None:
        super().__init__(terms, shapes)
        self._dims = dims

    @abstractmethod
    def size(self, value: Term, axis: int) -> Term:
        """Return the term of a value's dim."""

    def builtin(self, name: str, arguments: Sequence[Value]) -> Value | None:
        """Call a function of the virtual machine; ``None`` for one that is not modelled."""
        if not name.startswith(_PREFIX):
            return None
        match name.removeprefix(_PREFIX):
            case "alloc_shape_heap":
                self.allocated += 1
                return ShapeHeap(self.allocated)
            case "match_shape" | "match_prim_value" if not isinstance(arguments[1], ShapeHeap):
                return TupleValue(())  # it only compares, and declared types are right
            case "match_shape" if isinstance(arguments[1], ShapeHeap):
                return self._match_shape(arguments[0], arguments[1], self._numbers(arguments[2:-1]))
            case "match_prim_value" if isinstance(arguments[1], ShapeHeap):
                code, slot = self._numbers(arguments[2:-1])
                if code == _STORE_TO_HEAP:
                    self.state.slots[arguments[1].number, slot] = self.term(arguments[0])
                return TupleValue(())
            case "make_shape" if isinstance(arguments[0], ShapeHeap):
                numbers = self._numbers(arguments[2:])
                dims = tuple(
                    self._loaded(arguments[0], *pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)
                )
                term = self.terms.make("shape", None, dims)
                self.shapes.setdefault(term, dims)
                return term
            case "make_prim_value" if isinstance(arguments[0], ShapeHeap):
                return self._loaded(arguments[0], *self._numbers(arguments[1:]))
            case "copy":
                return arguments[0]
            case "cuda_graph.get_cached_alloc" if isinstance(arguments[0], Closure):
                return self.invoke(arguments[0], ())
            case "cuda_graph.run_or_capture" if isinstance(arguments[0], Closure):
                given = arguments[1]
                return self.invoke(arguments[0], given.fields if isinstance(given, TupleValue) else (given,))
            case "invoke_closure" if isinstance(arguments[0], Closure):
                return self.invoke(arguments[0], arguments[1:])
            case checked if checked in _CHECKS:
                return TupleValue(())  # declared types are right
            case operator if operator in _OPERATORS:
                return self._operator_named(_OPERATORS[operator], arguments)
        return None

    def shape_function(self, kernel: Kernel, heap: ShapeHeap) -> Value:
        """Call a kernel that computes slots of the heap from other slots."""
        stores, loops, branches = nodes(kernel.function.body, tirx.BufferStore, tirx.For, tirx.IfThenElse)
        if loops or branches:
            raise Open("a shape function with control flow")

        def load(place: Any) -> Any:
            return self._dims.expression(self._slot(heap, place.indices[0]))

        for store in stores:
            value = store.value
            for kind in {type(each) for each in nodes(value, tvm.ir.Expr)[0] if hasattr(each, "indices")}:
                value = tvm_ffi.structural_map(value, (kind, load))  # its class has another name in each release
            self.state.slots[heap.number, int(store.indices[0])] = self._dims.number(value)
        return TupleValue(())

    def returned(self, kernel: Kernel, arguments: Sequence[Value]) -> Value:
        """Call a kernel that writes nothing: it returns a number that it computes of numbers."""
        value = getattr(kernel.function.body, "value", None)
        if isinstance(value, tvm.ir.Call) and getattr(value.op, "name", "") == "tirx.ret":
            value = value.args[0]
        if value is None or not all(isinstance(each, int) for each in arguments):
            raise Open("a kernel that returns something else than a number")
        dims = [self._dims.expression(self.term(each)) for each in arguments]
        return self._dims.number(self._dims.substituted(value, dict(zip(kernel.function.params, dims, strict=True))))

    def _match_shape(self, value: Value, heap: ShapeHeap, numbers: Sequence[int]) -> Value:
        for axis, (code, slot) in enumerate(zip(numbers[1::2], numbers[2::2], strict=True)):
            if code == _STORE_TO_HEAP:
                self.state.slots[heap.number, slot] = self.dim(value, axis)
        return TupleValue(())

    def dim(self, value: Value, axis: int) -> Term:
        """Return the term of a dim of a tensor, in memory or not, or of a shape."""
        return value.dims[axis] if isinstance(value, Tensor) else self.size(self.term(value), axis)

    def _loaded(self, heap: ShapeHeap, code: int, number: int) -> Term:
        return self._slot(heap, number) if code == _LOAD_FROM_HEAP else self.terms.make("number", number)

    def _slot(self, heap: ShapeHeap, number: Any) -> Term:
        held = self.state.slots.get((heap.number, int(number)))
        if held is None:
            raise Refuted("a slot of the shape heap is read that nobody has written")
        return held

    def _numbers(self, values: Sequence[Value]) -> list[int]:
        nodes = [self.terms[self.term(each)] for each in values]
        if any(each.head != "number" for each in nodes):
            raise Open("a computed argument of the virtual machine")
        return [int(each.label) for each in nodes]  # type: ignore[call-overload]

    def _operator_named(self, name: str, arguments: Sequence[Value]) -> Value:
        first = arguments[0]
        if name == "relax.shape_of":
            dims = first.dims if isinstance(first, Tensor) else self.shapes.get(self.term(first))
            if dims is not None:
                return self.terms.make("shape", None, dims)
        return self.terms.make("op", (name, 0), tuple(self.term(each) for each in arguments))
