"""Functions of the virtual machine: the shape heap, captured graphs, and operators under their names at run time.

Codes and orders of arguments are those of ``include/tvm/runtime/vm/builtin.h`` and ``src/runtime/vm/builtin.cc``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from relaxkit.ir.walk import nodes
from relaxkit.proof.declared import Declared
from relaxkit.proof.memory import Refuted, Tensor
from relaxkit.proof.terms import Open, Term
from relaxkit.proof.values import Closure, External, Kernel, ShapeHeap, TupleValue, Value

_EQUALS_NUMBER, _STORE_TO_HEAP, _NOTHING, _EQUALS_SLOT = range(4)
_NUMBER, _LOAD_FROM_HEAP = range(2)
_PREFIX = "vm.builtin."
_ARITIES = {  # numbers of arguments; a call with others is not modelled
    "shape_of": 1, "tensor_to_shape": 1, "reshape": 2, "copy": 1, "check_shape_info": 3,
    "check_prim_value_info": 3, "check_tuple_info": 3, "check_func_info": 2,
}  # fmt: skip


class Builtins(Declared):
    """The part of an evaluator that knows the virtual machine."""

    def builtin(self, name: str, arguments: Sequence[Value]) -> Value | None:
        """Call a function of the virtual machine; ``None`` for one that is not modelled."""
        plain = name.removeprefix(_PREFIX)
        if plain == name or len(arguments) != _ARITIES.get(plain, len(arguments)):
            return None
        match plain:
            case "alloc_shape_heap":
                self.allocated += 1
                return ShapeHeap(self.allocated, *self._numbers(arguments))
            case "match_shape":
                pairs = self._pairs(arguments[2:-1])
                self.check_rank(arguments[0], len(pairs))
                return self._match([self.dim(arguments[0], axis) for axis in range(len(pairs))], arguments[1], pairs)
            case "match_prim_value":
                code, number = self._numbers(arguments[2:-1])
                return self._match([self.term(arguments[0])], arguments[1], [(code, number)])
            case "make_shape" if isinstance(arguments[0], ShapeHeap):
                return self.shape(tuple(self._loaded(arguments[0], *pair) for pair in self._pairs(arguments[1:])))
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
            case "check_tensor_info":
                dtype = self.terms.name(self.term(arguments[2])).rpartition(" ")[2]  # of "the dtype float32"
                self.check_tensor(arguments[0], dtype, *self._numbers(arguments[1:2]))
            case "check_shape_info":
                self.check_kind(arguments[0], "shape", *self._numbers(arguments[1:2]))
            case "check_prim_value_info":
                self.check_kind(arguments[0], self.terms.name(self.term(arguments[1])).rpartition(" ")[2])
            case "check_tuple_info" if isinstance(arguments[0], TupleValue):
                self.check_equal(self.terms.make("number", len(arguments[0].fields)), self.term(arguments[1]))
            case "check_func_info" if isinstance(arguments[0], Closure | External | Kernel):
                pass
            case "reshape" if isinstance(arguments[0], Tensor):
                return self.reshaped(arguments[0], arguments[1])
            case "shape_of" | "tensor_to_shape" | "reshape":  # operators without attributes and type arguments
                return self._operator_named(f"relax.{plain}", arguments)
            case _:
                return None
        return TupleValue(())

    def shape_function(self, kernel: Kernel, heap: ShapeHeap) -> Value:
        """Call a kernel that computes slots of the heap from other slots."""
        stores, loops, branches = nodes(kernel.function.body, tirx.BufferStore, tirx.For, tirx.IfThenElse)
        if loops or branches:
            raise Open("a shape function with control flow")
        held: dict[int, Any] = {}
        for store in stores:
            value = store.value
            loads = [each for each in nodes(value, tvm.ir.Expr)[0] if hasattr(each, "indices")]
            slots = [int(each.indices[0]) for each in loads]
            held.update({slot: self.dims.expression(self._slot(heap, slot)) for slot in slots})
            for kind in {type(each) for each in loads}:  # its class has another name in each release
                value = tvm_ffi.structural_map(value, (kind, lambda place: held[int(place.indices[0])]))
            self._store(heap, int(store.indices[0]), self.dims.number(value))
        return TupleValue(())

    def returned(self, kernel: Kernel, arguments: Sequence[Value]) -> Value:
        """Call a kernel that writes nothing: it returns a number that it computes of numbers."""
        value = getattr(kernel.function.body, "value", None)
        if isinstance(value, tvm.ir.Call) and getattr(value.op, "name", "") == "tirx.ret":
            value = value.args[0]
        if value is None or not all(isinstance(each, int) for each in arguments):
            raise Open("a kernel that returns something other than a number")
        dims = [self.dims.expression(self.term(each)) for each in arguments]
        return self.dims.number(self.dims.substituted(value, dict(zip(kernel.function.params, dims, strict=True))))

    def _match(self, dims: Sequence[Term], heap: Value, pairs: Sequence[tuple[int, int]]) -> Value:
        """Store dims in slots of the heap, or compare them with slots and numbers."""
        for dim, (code, number) in zip(dims, pairs, strict=True):
            if code == _EQUALS_NUMBER:
                self.check_equal(dim, self.terms.make("number", number))
            elif not isinstance(heap, ShapeHeap) or code not in (_STORE_TO_HEAP, _NOTHING, _EQUALS_SLOT):
                raise Open("arguments of the virtual machine that do not fit")
            elif code == _STORE_TO_HEAP:
                self._store(heap, number, dim)
            elif code == _EQUALS_SLOT:
                self.check_equal(dim, self._slot(heap, number))
        return TupleValue(())

    def _store(self, heap: ShapeHeap, slot: int, dim: Term) -> None:
        if not 0 <= slot < heap.size:
            raise Refuted("a slot is written that the shape heap does not have")
        self.state.slots[heap.number, slot] = dim

    def _loaded(self, heap: ShapeHeap, code: int, number: int) -> Term:
        if code not in (_NUMBER, _LOAD_FROM_HEAP):
            raise Open("arguments of the virtual machine that do not fit")
        return self._slot(heap, number) if code == _LOAD_FROM_HEAP else self.terms.make("number", number)

    def _slot(self, heap: ShapeHeap, number: Any) -> Term:
        held = self.state.slots.get((heap.number, int(number)))
        if held is None:
            raise Refuted("a slot of the shape heap is read before it is written")
        return held

    def _pairs(self, values: Sequence[Value]) -> list[tuple[int, int]]:
        """Read pairs of numbers behind their count."""
        count, *numbers = self._numbers(values) or [1]
        if len(numbers) != 2 * count:
            raise Open("arguments of the virtual machine that do not fit")
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def _numbers(self, values: Sequence[Value]) -> list[int]:
        nodes = [self.terms[self.term(each)] for each in values]
        if any(each.head != "number" for each in nodes):
            raise Open("a computed argument of the virtual machine")
        return [int(each.label) for each in nodes]

    def _operator_named(self, name: str, arguments: Sequence[Value]) -> Value:
        if name == "relax.shape_of":
            (first,) = arguments
            dims = first.dims if isinstance(first, Tensor) else self.shapes.get(self.term(first))
            if dims is not None:
                return self.terms.make("shape", None, dims)
        return self.terms.make("op", (name, 0), tuple(self.term(each) for each in arguments))
