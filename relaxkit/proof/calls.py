"""Calls of operators, packed functions and kernels, and the memory that kernels write into."""

from __future__ import annotations

import functools
import operator
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.lowered import KILLING
from relaxkit.proof.builtins import Builtins
from relaxkit.proof.in_place import out_of_place
from relaxkit.proof.memory import Refuted, Storage, Tensor
from relaxkit.proof.state import KILLED, Frame
from relaxkit.proof.terms import Open, Term
from relaxkit.proof.values import (
    Callback,
    Closure,
    External,
    Kernel,
    ShapeHeap,
    TupleValue,
    Value,
    all_dims,
    memory_of,
    outline,
    placed,
)

# What these give is their first operand, wherever it lies and whatever a later pass is told by them.
_IDENTITIES = frozenset(
    {
        "relax.hint_on_device", "relax.to_vdevice", "relax.wrap_param", "relax.builtin.stop_lift_params",
    }
)  # fmt: skip
_STORAGES = frozenset({"relax.memory.alloc_storage", "relax.vm.alloc_storage"})
_TENSORS = frozenset({"relax.builtin.alloc_tensor", "relax.memory.alloc_tensor", "relax.vm.alloc_tensor"})
_VIEWS = frozenset(["reshape", "flatten", "expand_dims", "squeeze", "view", "ensure_zero_offset"])
"""Last names of operators whose result may lie where an operand does."""
_PRINTING = "relax.run."
"""Prefix of the functions that print and assert: what returns nothing else may write into its operands."""


class Calls(Builtins):
    """The part of an evaluator that knows operators."""

    @abstractmethod
    def expression(self, expression: Any, frame: Frame) -> Value:
        """Evaluate an expression."""

    def call(self, expression: Any, frame: Frame) -> Value:
        """Evaluate a call of an operator or of a function value."""
        op = expression.op
        if isinstance(op, tvm.ir.Op):
            return self._operator(op, expression, frame)
        called = self.expression(op, frame)
        arguments = [self.expression(each, frame) for each in expression.args]
        if isinstance(called, Closure):
            return self.invoke(called, arguments)
        if isinstance(called, Kernel):
            return self._write(called, arguments)
        if isinstance(called, Callback):
            return called.call(arguments)
        if isinstance(called, External):
            if (value := self.builtin(called.name, arguments)) is not None:
                return value
            pure = (isinstance(op.ty, relax.FuncType) and bool(op.ty.purity)) or called.name in _pure_packed()
            return self._packed(called.name, arguments, expression, expression.ty_args, pure, frame)
        raise Open("a call of a function value")

    def _packed(
        self, name: str, arguments: Sequence[Value], expression: Any, types: Sequence[Any], pure: bool, frame: Frame
    ) -> Value:
        nothing = isinstance(expression.ty, relax.TupleType) and not expression.ty.fields
        self._check_written(arguments, nothing and not name.startswith(_PRINTING))
        term = self._made("external", (name, *map(outline, types)), arguments, types, frame)
        shown = arguments if pure or name.startswith(_PRINTING) else self._perhaps_overwrite(arguments)
        return placed(self.unpacked(self.run(term) if pure else self.impure(term), expression.ty), shown)

    def _operator(self, op: Any, expression: Any, frame: Frame) -> Value:
        name = str(op.name)
        if name in _IDENTITIES:
            return self.expression(expression.args[0], frame)
        if name in KILLING:
            frame.values[expression.args[0]] = KILLED
            return TupleValue(())
        arguments = [self.expression(each, frame) for each in expression.args]
        if name == "relax.call_inplace_packed":
            return self._packed_in_place(arguments, expression, frame)
        if name in _STORAGES:
            self.allocated += 1
            return Storage(self.allocated, self.dims_of_shape(arguments[0])[0])
        if name in _TENSORS:
            return self._allocate(arguments, expression)
        match name:
            case "relax.call_builtin_with_ctx" if isinstance(arguments[0], External):
                handed = arguments[1].fields if isinstance(arguments[1], TupleValue) else arguments[1:]
                if (value := self.builtin(arguments[0].name, handed)) is not None:
                    return value
            case "relax.call_tir" | "relax.call_tir_inplace" if isinstance(arguments[0], Kernel):
                return self._call_kernel(arguments[0], arguments[1:], expression, frame)
            case "relax.shape_of" if isinstance(arguments[0], int) and arguments[0] in self.shapes:
                return self.terms.make("shape", None, self.shapes[arguments[0]])
            case "relax.reshape" if isinstance(arguments[0], Tensor):
                return self.reshaped(arguments[0], arguments[1], expression)
            case "relax.vm.call_tir_dyn":
                raise Open("a kernel that is called with a shape")
            case "relax.make_closure":
                closure, bound = arguments
                if isinstance(closure, Closure) and isinstance(bound, TupleValue):
                    return Closure(closure.function, closure.values, closure.dims, (*bound.fields, *closure.bound))
                raise Open("a closure of something other than a function")
            case "relax.invoke_closure" | "relax.invoke_pure_closure":
                closure, given = arguments
                if isinstance(closure, Closure) and isinstance(given, TupleValue):
                    return self.cast(expression.ty_args[0], self.invoke(closure, given.fields), frame)
                raise Open("a call of a function value")
            case "relax.call_pure_packed" if isinstance(arguments[0], Closure):
                return self.invoke(arguments[0], arguments[1:])
            case "relax.call_pure_packed" if isinstance(arguments[0], Callback):
                return arguments[0].call(arguments[1:])
            case "relax.call_pure_packed" if isinstance(arguments[0], External):
                if (value := self.builtin(arguments[0].name, arguments[1:])) is not None:
                    return value
                return self._packed(arguments[0].name, arguments[1:], expression, expression.ty_args, True, frame)
            case "relax.call_dps_packed" if isinstance(arguments[0], Closure):
                operands = arguments[1].fields if isinstance(arguments[1], TupleValue) else arguments[1:]
                return self.cast(expression.ty_args[0], self.invoke(arguments[0], operands), frame)
        shown: Sequence[Value] = arguments if name.rpartition(".")[2] in _VIEWS else ()
        called = any(isinstance(each, External) for each in arguments)
        if self.legalizer is not None and not called:
            if (value := self.legalizer.value(expression, arguments)) is not None:
                return placed(value, shown)
            if (packed := op.get_attr("FCallPacked")) is not None:  # what LegalizeOps calls instead
                pure = bool(op.get_attr("FPurity"))
                return self._packed(str(packed), arguments, expression, [expression.ty], pure, frame)
        self._check_written(arguments)
        label = (name, self.terms.objects.number(expression.attrs), *map(outline, expression.ty_args))
        term = self._made("op", label, arguments, expression.ty_args, frame)
        if name == "relax.call_builtin_with_ctx":
            shown = self._perhaps_overwrite(arguments)
        term = self.run(term, foreign=called) if op.get_attr("FPurity") else self.impure(term)
        return placed(self.unpacked(term, expression.ty), shown)

    def _packed_in_place(self, arguments: Sequence[Value], expression: Any, frame: Frame) -> Value:
        """Call a packed function that returns some of its operands, overwritten, and uses these up."""
        indices = [int(each) for each in expression.attrs.inplace_indices]
        self._check_written(arguments, nothing=True)
        label = ("packed in place", self.terms.objects.number(expression.attrs), *map(outline, expression.ty_args))
        term = self._made("op", label, arguments, expression.ty_args, frame)
        self._consume(arguments[1:], indices)
        return placed(self.unpacked(term, expression.ty))

    # -- kernels and memory ------------------------------------------------------------------------------------

    def _allocate(self, arguments: Sequence[Value], expression: Any) -> Value:
        """Allocate a tensor, in a storage or in one of its own."""
        self.allocated += 1
        shape = arguments[2 if isinstance(arguments[0], Storage) else 0]
        if isinstance(arguments[0], Storage) and self.terms[self.term(arguments[1])].label != 0:
            raise Open("a tensor that begins in the middle of a storage")
        storage = arguments[0].number if isinstance(arguments[0], Storage) else self.allocated
        dims = self.dims_of_shape(shape)
        dtype = str(expression.ty.dtype)
        if isinstance(arguments[0], Storage):
            size = functools.reduce(operator.mul, map(self.dims.expression, dims), tirx.IntImm("int64", 1))
            element = tvm_ffi.dtype(dtype)
            fits = self.dims.at_least(arguments[0].size, size * ((element.bits * element.lanes + 7) // 8))
            if not fits:
                raise Open("a storage of some size") if fits is None else Refuted("a tensor larger than its storage")
        return Tensor(self.allocated, storage, f"tensor {dtype} {len(dims)}", dims)

    def _write(self, kernel: Kernel, arguments: Sequence[Value]) -> Value:
        """Call a kernel that writes into tensors that the program has allocated."""
        if kernel.stored is None:
            raise Open("a kernel that runs external code")
        if len(arguments) == 1 and isinstance(arguments[0], ShapeHeap):
            return self.shape_function(kernel, arguments[0])
        if not kernel.stored:
            return self.returned(kernel, arguments)
        self._check_overlap(kernel.stored, arguments)
        operands = []
        for place, value in enumerate(arguments):
            if place in kernel.stored and isinstance(value, Tensor) and value.number not in self.state.contents:
                operands.append(self.terms.make("output", value.outline, value.dims))
            else:
                operands.append(self.term(value))
        for place in sorted(kernel.stored):
            target = arguments[place]
            if not isinstance(target, Tensor):
                raise Open("a kernel that writes to memory that was not allocated")
            self.state.write(target, self.terms.make("kernel", (kernel.number, place), tuple(operands)))
        self.run(self.terms.make("kernel", (kernel.number, min(kernel.stored)), tuple(operands)))
        return TupleValue(())

    def _consume(self, operands: Sequence[Value], places: Sequence[int]) -> None:
        """Overwrite operands in place; the caller sees it of parameters and constants."""
        memories = [memory_of(each) for each in operands]
        for place in (each for each in places if each >= 0):
            if any(isinstance(each, Tensor) for each in _leaves([operands[place]])):
                raise Open("a call in place of a tensor that the program has allocated")
            if not all(memories[place].isdisjoint(its) for at, its in enumerate(memories) if at != place):
                raise Open("a kernel is given a tensor twice")
            self.state.consumed.update(dict.fromkeys(memories[place], len(memories[place]) == 1))
            for term in sorted(each for each in memories[place] if isinstance(each, int)):
                whole = term
                while self.terms[whole].head == "item":
                    (whole,) = self.terms[whole].children
                if self.terms[whole].head in ("param", "const"):
                    self.impure(self.terms.make("overwritten", None, (term,)))

    def _perhaps_overwrite(self, arguments: Sequence[Value]) -> Sequence[Value]:
        """Let an impure function overwrite tensors, which nobody may read then; its results may share what is left."""
        for each in _leaves(arguments):
            if isinstance(each, Tensor):
                self.state.holders[each.storage] = None
            elif isinstance(each, int) and self.terms.declared.get(each, "tensor").startswith("tensor"):
                self.state.consumed.update(dict.fromkeys(memory_of(each), False))
        return [placed(0)]

    def _check_written(self, arguments: Sequence[Value], nothing: bool = False) -> None:
        """Leave open what a function does with memory that it may write: any if it returns nothing, else fresh one."""
        tensors = [each for each in _leaves(arguments) if isinstance(each, Tensor)]
        if tensors and (nothing or any(each.number not in self.state.contents for each in tensors)):
            raise Open("a packed function that writes to memory")

    def _check_overlap(self, stored: frozenset[int], arguments: Sequence[Value]) -> None:
        """Refute a kernel that writes where another of its tensors lies: it may write before it has read."""
        tensors = [(place, value) for place, value in enumerate(arguments) if isinstance(value, Tensor)]
        for place, target in tensors:
            for other, value in tensors if place in stored else ():
                if other != place and value.number == target.number:
                    raise Open("a kernel is given a tensor twice")
                if other != place and value.storage == target.storage:
                    raise Refuted("a kernel writes to the storage of another of its tensors")

    def _call_kernel(self, kernel: Kernel, arguments: Sequence[Value], expression: Any, frame: Frame) -> Value:
        """Call a kernel that returns what it writes; in place, into what it is given."""
        if not isinstance(arguments[0], TupleValue):
            raise Open("a kernel of a computed tuple")
        operands = [self.term(self.held(each)) for each in arguments[0].fields]
        (ty,) = expression.ty_args
        outputs = list(ty.fields) if isinstance(ty, relax.TupleType) else [ty]
        reused = [-1] * len(outputs)
        if str(expression.op.name) == "relax.call_tir_inplace":
            reused = [int(each) for each in expression.attrs.inplace_indices]
        computed, inside = kernel.number, reused
        if min(reused) >= 0 and (apart := out_of_place(kernel.function, reused)) is not None:
            computed, inside = self.terms.objects.number(apart), [-1] * len(outputs)
        places = []
        for index, output in zip(inside, outputs, strict=True):
            places.append(len(operands) if index < 0 else index)
            if index < 0:
                dims = tuple(self.number(dim, frame) for dim in all_dims(output))
                operands.append(self.terms.make("output", outline(output), dims))
        for scalars in arguments[1:]:
            operands += self.dims_of_shape(scalars)
        results = tuple(self.terms.make("kernel", (computed, place), tuple(operands)) for place in places)
        self.run(results[places.index(min(places))])
        self._consume(arguments[0].fields, reused)
        return placed(TupleValue(results) if isinstance(ty, relax.TupleType) else results[0])

    def _made(
        self, head: str, label: tuple[Any, ...], arguments: Sequence[Value], types: Sequence[Any], frame: Frame
    ) -> Term:
        """Make the term of a call whose type arguments say what it returns: their dims are operands."""
        dims = tuple(self.number(dim, frame) for ty in types for dim in all_dims(ty))
        return self.terms.make(head, label, (*(self.term(each) for each in arguments), *dims))


@functools.cache
def _pure_packed() -> frozenset[str]:
    """Return the packed functions that pure operators are lowered to."""
    ops = map(tvm.ir.Op.get, tvm.ir.Op.list_op_names())
    return frozenset(
        str(op.get_attr("FCallPacked")) for op in ops if op.get_attr("FCallPacked") and op.get_attr("FPurity")
    )


def _leaves(values: Sequence[Value]) -> list[Value]:
    return [leaf for each in values for leaf in (_leaves(each.fields) if isinstance(each, TupleValue) else [each])]
