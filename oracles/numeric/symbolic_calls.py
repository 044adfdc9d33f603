"""Calls in terms: a module whose calling convention a pass has changed, called for all arguments at once.

The adapters of :mod:`oracles.calling` call a program with values. Here each is composed with the terms of
:mod:`relaxkit.proof` instead, so that results are proved equal whatever the arguments are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm

from oracles.calling.compose import num_input_of
from oracles.calling.frame import Adapter, CallFrame, as_it_is
from oracles.calling.gradient import Gradient
from oracles.calling.lazy import SUFFIX, LazyGetInput, LazySetOutput, LazyTransformParams
from oracles.calling.parameters import (
    SHARED_NAME,
    BindParams,
    BundleModelParams,
    CastParams,
    Dtypes,
    LiftTransformParams,
)
from relaxkit.ir.functions import symbol_of
from relaxkit.proof.evaluate import SymbolicProgram
from relaxkit.proof.terms import Open
from relaxkit.proof.values import Callback, TupleValue, Value


class AdaptedCall:
    """Calls the functions of a transformed module with the arguments of the original's."""

    def __init__(self, adapters: Sequence[Adapter], before: tvm.IRModule, after: tvm.IRModule) -> None:
        self._adapters = adapters
        self._functions = {name.name_hint: function for name, function in before.functions_items()}
        self._names = {symbol_of(function): name.name_hint for name, function in after.functions_items()}

    def __call__(self, program: SymbolicProgram, name: str, arguments: Sequence[Value]) -> Value:
        """Call a function; raises ``Open`` where an adapter has no form in terms."""
        function = self._functions[name]
        frame = CallFrame(symbol_of(function), tuple(arguments), num_input_of(function), as_it_is)
        return self._called(program, frame, 0)

    def _called(self, program: SymbolicProgram, frame: CallFrame, first: int) -> Value:
        for index in range(first, len(self._adapters)):
            frame = self._adapted(program, frame, index)
        if frame.function not in self._names:
            raise Open("a public function is gone")
        result: Value = frame.finish(program.call_function(self._names[frame.function], frame.arguments))
        return result

    def _adapted(self, program: SymbolicProgram, frame: CallFrame, index: int) -> CallFrame:
        adapter = self._adapters[index]
        match adapter:
            case BindParams():
                return adapter.adapt(frame, _NoRunner())
            case CastParams():
                return _retyped(adapter, program, frame)
            case Gradient():  # no term of the original says what it is
                raise Open("an adjoint, which is measured")
            case BundleModelParams() if frame.num_input is None:
                return frame
            case BundleModelParams():
                return frame.with_weights((TupleValue(frame.weights),))
            case LiftTransformParams():
                return self._lifted(adapter, program, frame, index)
            case LazyGetInput():
                first = frame.num_input or 0
                weights = frame.arguments[first:]
                fetch = Callback(lambda given: weights[_number(program, given[0])])
                return replace(frame, arguments=(*frame.arguments[:first], fetch), num_input=first + 1)
            case LazySetOutput():
                return _set_output(adapter, program, frame)
            case LazyTransformParams() if frame.function in self._names:
                return _lazy_transform(adapter, program, frame, self._names[frame.function])
        raise Open("a calling convention without a form in terms")

    def _lifted(
        self, adapter: LiftTransformParams, program: SymbolicProgram, frame: CallFrame, index: int
    ) -> CallFrame:
        if frame.num_input is None:
            return frame
        if not isinstance(adapter.shared, bool) and frame.function not in adapter.shared:
            return frame
        name = SHARED_NAME if adapter.shared else f"{frame.function}_{SHARED_NAME}"
        if name not in self._names:
            return frame
        lifted = self._called(program, CallFrame(name, (TupleValue(frame.weights),), 0, as_it_is), index + 1)
        return frame.with_weights(_fields(lifted))


class _NoRunner:
    """The runner of adapters that call nothing."""

    def has(self, function: str) -> bool:
        """Say that the program has no other function."""
        return False

    def call_later(self, frame: CallFrame) -> Any:
        """Refuse a call."""
        raise Open("a calling convention without a form in terms")


@dataclass
class _Received:
    """The outputs that a program hands over through a callback, by index, each once and on no branch."""

    program: SymbolicProgram
    values: dict[int, Value]

    def put(self, given: Sequence[Value]) -> Value:
        """Take an output."""
        index = _number(self.program, given[0])
        if index in self.values or self.program.conditions:
            raise Open("an output that is set on a branch, or twice")
        self.values[index] = self.program.settled(given[1])
        return TupleValue(())

    def collected(self, arity: int | None, nested: bool = False) -> Value:
        """Make the result, as :func:`oracles.calling.lazy.collected` does: one value, a tuple of so many fields, ..."""
        first = self.values.get(0)
        whole = isinstance(first, TupleValue) and len(self.values) == 1 and not (nested and arity in (-1, 1))
        if whole and arity in (-1, len(_fields(self.values[0]))):
            return self.values[0]
        length = 1 if arity is None else len(self.values) if arity < 0 else arity
        if sorted(self.values) != list(range(length)):
            raise Open("an output that is never set")
        return self.values[0] if arity is None else TupleValue(tuple(self.values[index] for index in range(length)))


def _retyped(adapter: CastParams, program: SymbolicProgram, frame: CallFrame) -> CallFrame:
    dtypes = adapter.dtypes.get(frame.function, ())
    if len(dtypes) != len(frame.arguments):
        return frame
    arguments = tuple(_cast(program, value, dtype) for value, dtype in zip(frame.arguments, dtypes, strict=True))
    before = adapter.results.get(frame.function)
    return replace(frame, arguments=arguments, finish=lambda result: frame.finish(_cast(program, result, before)))


def _cast(program: SymbolicProgram, value: Value, dtypes: Dtypes) -> Value:
    """Return tensors in other dtypes, as the caller casts them; what is no tensor stays."""
    if isinstance(dtypes, tuple) and isinstance(value, TupleValue) and len(value.fields) == len(dtypes):
        return TupleValue(tuple(_cast(program, each, dtype) for each, dtype in zip(value.fields, dtypes, strict=True)))
    return program.astype(value, dtypes) if isinstance(dtypes, str) else value


def _set_output(adapter: LazySetOutput, program: SymbolicProgram, frame: CallFrame) -> CallFrame:
    if frame.silent:
        raise Open("an output that is a tuple")
    received = _Received(program, {})
    position = len(frame.arguments) if frame.num_input is None else frame.num_input
    arguments = (*frame.arguments[:position], Callback(received.put), *frame.arguments[position:])
    number = None if frame.num_input is None else frame.num_input + 1
    arity, nested = adapter.arity.get(frame.function, -1), frame.function in adapter.nested
    return replace(
        frame, arguments=arguments, num_input=number, silent=True, finish=_then(frame, received, arity, nested)
    )


def _lazy_transform(adapter: LazyTransformParams, program: SymbolicProgram, frame: CallFrame, name: str) -> CallFrame:
    if not frame.function.endswith(SUFFIX):
        return frame
    inputs = () if frame.num_input is None else frame.inputs
    items = frame.arguments[len(inputs) :]
    items = items[0].fields if len(items) == 1 and isinstance(items[0], TupleValue) else items
    # Further parameters stand for anything that the caller means for the callbacks, which must be handed it.
    count = len(adapter.extra_get) + len(adapter.extra_set)
    params = program.functions[name].params[len(inputs) :][:count]
    tokens = tuple(program.given(("token", index), each.ty) for index, each in enumerate(params))
    for_get, for_set = tokens[: len(adapter.extra_get)], tokens[len(adapter.extra_get) :]

    def get(given: Sequence[Value]) -> Value:
        return items[_number(program, _behind(for_get, given, 1)[0])]

    program.externals[adapter.get_item] = Callback(get)
    finish, silent = frame.finish, frame.silent
    if adapter.set_item is not None:
        received = _Received(program, {})
        program.externals[adapter.set_item] = Callback(lambda given: received.put(_behind(for_set, given, 2)))
        finish, silent = _then(frame, received, -1), True
    return replace(frame, arguments=(*inputs, *tokens), finish=finish, silent=silent)


def _behind(tokens: Sequence[Value], given: Sequence[Value], count: int) -> Sequence[Value]:
    """Return the arguments of a callback behind those that the caller meant for it."""
    if len(given) != len(tokens) + count or tuple(given[: len(tokens)]) != tuple(tokens):
        raise Open("a callback that is given other arguments than the caller's")
    return given[len(tokens) :]


def _then(frame: CallFrame, received: _Received, arity: int | None, nested: bool = False) -> Callable[[Value], Value]:
    finish = frame.finish
    return lambda _: finish(received.collected(arity, nested))


def _fields(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, TupleValue):
        raise Open("a transform that returns no tuple")
    return value.fields


def _number(program: SymbolicProgram, value: Value) -> int:
    """Return the index that a callback is given; raises ``Open`` for one that is not known."""
    node = program.terms[program.term(value)]
    if node.head != "number" or not isinstance(node.label, int):
        raise Open("an index of a callback that is computed")
    return node.label
