"""The language, symbolically: functions, blocks, branches, tuples, closures, calls, effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import tvm
from tvm import relax, tirx

from relaxkit.ir.domain import Given
from relaxkit.ir.functions import attributes, closed, functions_by_name, mentioned_names
from relaxkit.ir.lowered import buffers_of, is_harmless
from relaxkit.ir.types import dims_of
from relaxkit.proof.calls import Calls
from relaxkit.proof.dims import DimTable
from relaxkit.proof.memory import State
from relaxkit.proof.state import KILLED, Checks, Frame
from relaxkit.proof.terms import Node, Open, Term, Terms
from relaxkit.proof.values import (
    Callback,
    Closure,
    External,
    Kernel,
    Placed,
    TupleValue,
    Value,
    kernel_of,
    memory_of,
    placed,
)
from relaxkit.runtime.external import handed_over

MOST_CALLS = 64
"""Functions that may be inside one another."""
MOST_STEPS = 100_000
"""Bindings that are evaluated for one module, those of inlined calls included."""


class Caller(Protocol):
    """A way to call a function of a program, by the name and with the arguments that it had before the pass."""

    def __call__(self, program: SymbolicProgram, name: str, arguments: Sequence[Value], /) -> Value:
        """Call it; raises ``Open`` where that is not modelled."""


class SymbolicProgram(Calls):
    """Evaluates the functions of one module into terms; ``externals`` are packed functions of the caller's, by name."""

    def __init__(
        self, module: tvm.IRModule, terms: Terms, dims: DimTable, shapes: dict[Term, tuple[Term, ...]]
    ) -> None:
        super().__init__(terms, shapes, dims)
        self.functions = functions_by_name(module)
        self._kernels: dict[str, Kernel] = {}
        self._active: list[Any] = []
        self._abstract: list[Any] = []
        self._results: dict[Any, tuple[Value, Term]] = {}
        self._steps = 0
        self.externals: dict[str, Callback] = {}

    @cached_property
    def _recursive(self) -> set[Any]:
        relaxed = {name: each for name, each in self.functions.items() if isinstance(each, relax.Function)}
        named = {name: mentioned_names(function) & relaxed.keys() for name, function in relaxed.items()}
        return {relaxed[name] for name in named if name in closed(named[name], named.__getitem__)}

    @cached_property
    def _symbols(self) -> set[str]:
        own = {name: each for name, each in self.functions.items() if not isinstance(each, relax.ExternFunc)}
        return {*own, *(str(attributes(each).get("global_symbol")) for each in own.values())}

    def follow(self, module: tvm.IRModule) -> SymbolicProgram:
        """Return the program of another module, which begins with what is known here and leaves this one as it is."""
        terms = self.terms.copy()
        other = SymbolicProgram(module, terms, self.dims.copy(terms), dict(self.shapes))
        if self.legalizer is not None:
            other.legalizer = self.legalizer.copy(terms, other.apart_from)
        return other

    def apart_from(self, module: tvm.IRModule) -> Callable[[Sequence[Value]], Value]:
        """Return what evaluates the only Relax function of another module over the same tables."""
        program = SymbolicProgram(module, self.terms, self.dims, self.shapes)

        def called(arguments: Sequence[Value]) -> Value:
            value, ran = program.only_function(arguments)
            for conditions, term in ran:
                self.ran.append(((*self.conditions, *conditions), term))
            return value

        return called

    def only_function(self, arguments: Sequence[Value]) -> tuple[Value, Checks]:
        """Evaluate the only Relax function of the module on some arguments, and say what it calls; without effects."""
        (function,) = (each for each in self.functions.values() if isinstance(each, relax.Function))
        with self.apart():
            value = self.settled(self.invoke(Closure(function), arguments))
            if self.checks:
                raise Open("a check or a call that may fail")
            ran = [(conditions[1:], term) for conditions, term in self.ran]
        return value, ran

    # -- calls of functions --------------------------------------------------------------------------------------

    def invoke(self, closure: Closure, arguments: Sequence[Value]) -> Value:
        """Inline a call of a function value."""
        function, arguments = closure.function, (*arguments, *closure.bound)
        if not isinstance(function, relax.Function):
            raise Open("a call of something other than a Relax function")
        if len(arguments) != len(function.params):
            raise Open("a call with the wrong number of arguments")
        key = None
        if not closure.values and not closure.dims and all(isinstance(each, int) for each in arguments):
            key = (function, tuple(arguments), self.state.effect, self.conditions)
            if key in self._results:
                value, self.state.effect = self._results[key]
                return placed(value)
        if function in self._recursive:
            return self._recursion(function, arguments)
        if len(self._active) >= MOST_CALLS:
            raise Open("calls too deep")
        self._active.append(function)
        before = self.allocated, len(self.state.consumed)
        try:
            result = self._returned(closure, arguments)
        finally:
            self._active.pop()
        made = frozenset(each for each in memory_of(result) if not isinstance(each, int)) - memory_of(*arguments)
        if not isinstance(result, Placed) or result.memory != made:
            key = None  # it is an argument or a constant: no other call makes another one of it
        if key is not None and before == (self.allocated, len(self.state.consumed)):
            self._results[key] = result, self.state.effect
        return result

    def _recursion(self, function: Any, arguments: Sequence[Value]) -> Value:
        """Apply a recursive function: the term of its body, in which it stands for itself.

        Two of them with one body compute the same wherever both end: by induction over the depth of the recursion.
        """
        frame = self.entered(Closure(function), arguments)
        arguments = [frame.values[param] for param in function.params]
        if function in self._abstract:
            itself = self.terms.make("itself", self._abstract.index(function))
        else:
            self._abstract.append(function)
            try:
                itself = self._generic("recursive", Closure(function), self._returned)
            finally:
                self._abstract.pop()
        term = self.terms.make("apply", None, (itself, *(self.term(each) for each in arguments)))
        return placed(self.unpacked(term if function.is_pure else self.impure(term), function.ret_ty), arguments)

    def entered(self, closure: Closure, arguments: Sequence[Value]) -> Frame:
        """Enter a function: its parameters are cast to their types, as the program does."""
        frame, params = Frame(dict(closure.values), dict(closure.dims)), closure.function.params
        for param, value in zip(params, arguments, strict=True):
            self._bind(param, value, frame)
        for param, value in zip(params, arguments, strict=True):
            self.match(param.ty, value, frame)
        for param, value in zip(params, arguments, strict=True):
            frame.values[param] = self.cast(param.ty, value, frame)
        return frame

    def _returned(self, closure: Closure, arguments: Sequence[Value]) -> Value:
        frame = self.entered(closure, arguments)
        return self.cast(closure.function.ret_ty, self.expression(closure.function.body, frame), frame)

    def _bind(self, var: Any, value: Value, frame: Frame) -> None:
        frame.values[var] = value
        if isinstance(value, int) and isinstance(var.ty, tvm.ir.PrimType):
            frame.dims[var] = self.scalar(value, var.ty)

    # -- expressions -------------------------------------------------------------------------------------------

    def expression(self, expression: Any, frame: Frame) -> Value:
        """Evaluate an expression of a function that is being evaluated."""
        if (evaluate := _EVALUATED.get(type(expression))) is not None:
            return evaluate(self, expression, frame)
        if expression in frame.values:
            return self.held(frame.values[expression])
        if isinstance(expression, tirx.Var) and not isinstance(expression.ty, tvm.ir.PrimType):
            raise Open("a variable without a value")  # as in a local function that calls itself
        if isinstance(getattr(expression, "ty", None), tvm.ir.PrimType):
            return self.number(expression, frame)
        raise Open(f"expression {type(expression).__name__}")

    def _tuple(self, expression: Any, frame: Frame) -> Value:
        return TupleValue(tuple(self.expression(each, frame) for each in expression.fields))

    def _sequence(self, expression: Any, frame: Frame) -> Value:
        for block in expression.blocks:
            for binding in block.bindings:
                self._steps += 1
                if self._steps > MOST_STEPS:
                    raise Open("too many bindings")
                value = self.expression(binding.value, frame)
                if isinstance(binding, relax.MatchCast):
                    self.learn(binding.value.ty, value, frame)
                    value = self.cast(binding.ty, value, frame)
                self._bind(binding.var, value, frame)
                self.learn(binding.var.ty, value, frame)
        return self.expression(expression.body, frame)

    def _if(self, expression: Any, frame: Frame) -> Value:
        condition = self.term(self.expression(expression.cond, frame))
        before = self.state
        ends, outside = [], self.conditions
        for holds, branch in ((True, expression.true_branch), (False, expression.false_branch)):
            self.state, self.conditions = before.copy(), (*outside, (condition, holds))
            inside = Frame(dict(frame.values), dict(frame.dims))
            value = self.expression(branch, inside)
            ends.append((self.settled(value), self.state))
            frame.values.update({var: KILLED for var in frame.values if inside.values[var] is KILLED})
        self.conditions = outside
        (one, one_state), (other, other_state) = ends
        before.join(self.terms, condition, one_state, other_state)
        self.state = before
        return self._chosen(condition, one, other)

    def _chosen(self, condition: Term, one: Value, other: Value) -> Value:
        if isinstance(one, TupleValue) and isinstance(other, TupleValue) and len(one.fields) == len(other.fields):
            pairs = zip(one.fields, other.fields, strict=True)
            return TupleValue(tuple(self._chosen(condition, each, its) for each, its in pairs))
        return Placed.of(self.terms.choice(condition, self.term(one), self.term(other)), memory_of(one, other))

    def _item(self, expression: Any, frame: Frame) -> Value:
        value = self.expression(expression.tuple_value, frame)
        if isinstance(value, TupleValue):
            return self.held(value.fields[int(expression.index)])
        arity = len(expression.tuple_value.ty.fields)
        item = self.terms.make("item", (int(expression.index), arity), (self.term(value),))
        return placed(self.unpacked(item, expression.ty), (value,))

    def _constant(self, expression: Any) -> Term:
        value = expression.value
        if not isinstance(value, tvm.runtime.Tensor):
            return self.terms.make("text", (type(value).__name__, str(value)))
        return self.array(value.numpy())

    def _global(self, expression: Any) -> Value:
        function = self.functions.get(expression.name_hint)
        if isinstance(function, relax.Function):
            return Closure(function)
        if isinstance(function, tirx.PrimFunc):
            return self._kernel(expression.name_hint, function)
        if isinstance(function, relax.ExternFunc):
            return self._external(str(function.global_symbol))
        raise Open("a function that the module does not have")

    def _external(self, name: str) -> Value:
        if name not in self.externals and name in self._symbols:
            raise Open("a function of the module that is called as a packed function")
        if name not in self.externals and (function := handed_over(name)) is not None:
            return Closure(function)  # what another code generator made of it computes what it says
        return self.externals.get(name) or External(name)

    def _kernel(self, name: str, function: Any) -> Kernel:
        if name not in self._kernels:
            self._kernels[name] = kernel_of(self.terms, function)
        return self._kernels[name]

    # -- from outside ----------------------------------------------------------------------------------------------

    def parameters(self, name: str, fixed: Given | None) -> tuple[Value, ...]:
        """Return the parameters of a function as values; what is fixed of them as constants.

        Raises:
            Open: A function is a parameter.
        """
        values: list[Value] = []
        for index, param in enumerate(self.functions[name].params):
            if fixed is not None and (name, param.name) in fixed.values:
                values.append(self.array(fixed.values[name, param.name]))
                continue
            values.append(self.leaf(("param", index, name), param.ty))
            if fixed is not None and fixed.dims:
                self._fix(param.ty, values[-1], fixed.dims)
        return tuple(values)

    def _fix(self, ty: Any, value: Value, fixed: Mapping[str, int]) -> None:
        """Give a value the dims that are fixed of its type."""
        if isinstance(value, TupleValue):
            for each, part in zip(ty.fields, value.fields, strict=True):
                self._fix(each, part, fixed)
        elif isinstance(value, int) and (dims := dims_of(ty)) is not None:
            values = [fixed.get(dim.name, dim) if isinstance(dim, tirx.Var) else dim for dim in dims]
            self.shapes[value] = tuple(
                self.terms.make("size", axis, (value,))
                if isinstance(dim, tirx.Var)
                else self.number(dim, Frame({}, {}))
                for axis, dim in enumerate(values)
            )

    def result(self, call: Caller, name: str, arguments: Sequence[Value]) -> tuple[Term, Term]:
        """Call a function in a program that has just begun: the terms of its result and of its effects.

        Raises:
            Open: Something in it is not modelled.
            Refuted: It reads what it must not read.
        """
        self.state = State(self.terms.make("start"))
        return self.term(call(self, name, arguments)), self.state.effect

    def checked_terms(self) -> list[Term]:
        """Return the terms of all checks, and of the branches that they are on."""
        return [term for some, check in self.checks for term in (check, *(each for each, _ in some)) if term >= 0]

    def raises_where(self, original: SymbolicProgram, same: Callable[[Term], Term], results: Sequence[Term]) -> bool:
        """Say whether the program raises only where the original does.

        What both call may raise in both. What only this one calls must be part of the results, which are those of the
        original, or harmless.

        Args:
            same: Makes one of terms that are equal.
            results: Terms of the results and effects, which are equal.
        """

        def checked(checks: Checks) -> list[tuple[Term, list[tuple[Term, bool]]]]:
            return [(same(term), [(same(each), holds) for each, holds in conditions]) for conditions, term in checks]

        def beyond(some: Checks, others: Checks) -> list[Term]:
            known = {(term, frozenset(conditions)) for term, conditions in checked(others)}
            return [
                term
                for (_, term), (equal, conditions) in zip(some, checked(some), strict=True)
                if all((equal, frozenset(conditions[:end])) not in known for end in range(len(conditions) + 1))
            ]

        if beyond(self.checks, original.checks):
            return False
        if not (called := beyond(self.foreign, original.ran)):
            return True
        somewhere = {same(term) for _, term in original.ran}
        needed = self.terms.below(*results, *self.checked_terms())
        return all(
            (term in needed and same(term) not in somewhere) or self._cannot_fail(self.terms[term]) for term in called
        )

    def _cannot_fail(self, call: Node) -> bool:
        """Say whether a call of a kernel ends on all operands of the shapes that it has."""
        kernel = self.terms.objects.of[call.label[0]] if call.head == "kernel" else None
        if kernel is None or not is_harmless(kernel) or len(kernel.params) != len(call.children):
            return False
        frame, fitting = Frame({}, {}), list(zip(kernel.params, buffers_of(kernel), call.children, strict=True))
        frame.dims |= {param: self.dims.expression(term) for param, buffer, term in fitting if buffer is None}
        sizes = [(buffer, *self._tensor(term)) for _, buffer, term in fitting if buffer is not None]
        if any((str(buffer.dtype), len(buffer.shape)) != (dtype, len(dims)) for buffer, dtype, dims in sizes):
            return False
        pairs = [pair for buffer, _, dims in sizes for pair in zip(buffer.shape, dims, strict=True)]
        for dim, term in pairs:
            if isinstance(dim, tirx.Var):
                frame.dims.setdefault(dim, self.dims.expression(term))
        return all(self.number(int(dim) if isinstance(dim, tirx.IntImm) else dim, frame) == term for dim, term in pairs)

    def _tensor(self, term: Term) -> tuple[str, tuple[Term, ...]]:
        """Return the dtype and the dims of an operand of a kernel; no dtype where they are not known."""
        node = self.terms[term]
        known = (node.label, node.children) if node.head == "output" else (self.terms.declared.get(term, ""), None)
        kind, _, rest = str(known[0]).partition(" ")
        dims = self.shapes.get(term) if known[1] is None else known[1]
        return (rest.partition(" ")[0], dims) if kind == "tensor" and dims is not None else ("", ())

    def call_function(self, name: str, arguments: Sequence[Value]) -> Value:
        """Call a function of the module from outside, where the program is now.

        Raises:
            Open: It takes another number of arguments, or arguments of other types or fewer shapes.
        """
        return self.invoke(Closure(self.functions[name]), arguments)


_EVALUATED: dict[type, Callable[[SymbolicProgram, Any, Frame], Value]] = {
    relax.SeqExpr: SymbolicProgram._sequence,
    relax.Call: SymbolicProgram.call,
    relax.Tuple: SymbolicProgram._tuple,
    relax.TupleGetItem: SymbolicProgram._item,
    relax.If: SymbolicProgram._if,
    relax.ShapeExpr: lambda self, each, frame: self.shape(tuple(self.number(dim, frame) for dim in each.values)),
    relax.Function: lambda _, each, frame: Closure(each, frame.values, frame.dims),
    relax.GlobalVar: lambda self, each, _: self._global(each),
    relax.ExternFunc: lambda self, each, _: self._external(str(each.global_symbol)),
    tvm.ir.GenericConst: lambda self, each, _: self._constant(each),
    tvm.ir.StringImm: lambda self, each, _: self.terms.make("text", ("str", str(each.value))),
}
"""What evaluates an expression, by its class; variables and scalars are evaluated otherwise."""
