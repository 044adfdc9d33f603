"""The language around the operators: functions, blocks, branches, tuples, closures, recursion."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from relaxkit.interpreter.dims import Activation
from relaxkit.interpreter.kernels import PackedFunction, call_packed, run_kernel
from relaxkit.interpreter.registry import (
    MISMATCH,
    UNCOMPARED,
    Precision,
    Raised,
    Request,
    TooDeep,
    Undefined,
    Unsupported,
    has_static_shapes,
    implementation,
    numpy_dtype,
)
from relaxkit.runtime.values import ShapeValue

MOST_CALLS = 200
"""Functions that may be inside one another; the generator's recursions end after a few steps."""

OVERWRITTEN = object()
"""What a variable holds when a call in place has consumed its value: nobody may read it any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function value, equal to no other: what it has captured would have to be compared.

    Attributes:
        around: The function around it, or ``None`` for a function of the module.
        bound: Arguments that ``make_closure`` bound; the call's own come first.
    """

    function: Any
    captured: Mapping[Any, Any] = field(default_factory=dict)
    around: Activation | None = None
    bound: tuple[Any, ...] = ()


class Interpreter:
    """Runs the Relax functions of a module.

    Args:
        module: The ``tvm.IRModule``, high-level or legalized.
        precision: In which dtype floats are computed.
        observer: Told of every call of an operator that has a result: the request, and the result.
        instead: Values that variables get whatever they are bound to.

    Attributes:
        rounded: Whether kernels or packed functions had floats in their own dtypes: then a result of
            ``Precision.FLOAT64`` is no more exact than those.
    """

    def __init__(
        self,
        module: tvm.IRModule,
        precision: Precision = Precision.DECLARED,
        observer: Callable[[Request, Any], None] | None = None,
        instead: Mapping[relax.Var, Any] | None = None,
    ) -> None:
        self.precision = precision
        self.observer = observer
        self._instead = instead or {}
        self.printed: list[str] = []
        self.rounded = False
        self._memory: dict[int, Any] = {}
        self._functions = {gv.name_hint: function for gv, function in module.functions_items()}
        self._depth = 0

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Call a function by its name, with arguments as ``oracles.measure.inputs.materialize`` gives them.

        Raises:
            Unsupported: Something in the program is not known here.
            Undefined: What the program does on these arguments is not defined.
            Raised: The program ends with an error.
        """
        function = self._functions.get(name)
        if not isinstance(function, relax.Function):
            raise Unsupported("no such Relax function")
        self._depth = 0
        self._memory.clear()
        with np.errstate(all="ignore"):
            try:
                return self.invoke(Closure(function), [self._argument(each) for each in arguments])
            except (RecursionError, ctypes.ArgumentError) as error:  # ctypes, which reads constants, wraps the former
                raise TooDeep("calls too deep") from error

    def has_symbol(self, symbol: str) -> bool:
        """Say whether a function of the module has this global symbol."""
        attributes = [getattr(function, "attrs", None) for function in self._functions.values()]
        return any(each is not None and str(each.get("global_symbol", "")) == symbol for each in attributes)

    def allocate(self, array: Any) -> Any:
        """Remember a tensor that the program has allocated itself: calls of kernels may write into it."""
        self._memory[id(array)] = array
        return array

    def allocated(self, value: Any) -> bool:
        """Say whether a value is such a tensor."""
        return id(value) in self._memory

    def invoke(self, closure: Any, arguments: Sequence[Any]) -> Any:
        """Call a function value."""
        if not isinstance(closure, Closure):
            raise Unsupported("call of something other than a Relax function")
        function, arguments = closure.function, (*arguments, *closure.bound)
        if len(arguments) != len(function.params):
            raise Raised("wrong number of arguments")
        self._depth += 1
        if self._depth > MOST_CALLS:
            raise TooDeep("calls too deep")
        values = dict(closure.captured)
        values.update(zip(function.params, arguments, strict=True))
        frame = Activation(values, closure.around)
        frame.match([(param.ty, values[param]) for param in function.params], self.precision)
        result = self._evaluate(function.body, frame)
        self._depth -= 1
        return result

    # -- inside -------------------------------------------------------------------------------------------------

    def _argument(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.astype(numpy_dtype(value.dtype.name, self.precision), copy=False)
        if isinstance(value, tvm.runtime.ShapeTuple):
            return ShapeValue(tuple(int(dim) for dim in value))
        if isinstance(value, (tuple, list)):
            return tuple(self._argument(each) for each in value)
        if value is None or isinstance(value, (bool, int, float, str, ShapeValue)):
            return value
        raise Unsupported("argument of an unknown kind")

    def _evaluate(self, expression: relax.Expr, frame: Activation) -> Any:
        handler = _HANDLERS.get(type(expression))
        if handler is None:
            raise Unsupported(f"expression {type(expression).__name__}")
        return handler(self, expression, frame)

    def _variable(self, expression: relax.Expr, frame: Activation) -> Any:
        try:
            value = frame.values[expression]
        except KeyError:
            return frame.number(expression)  # a symbolic dim, used as a number
        if value is OVERWRITTEN:
            raise Undefined("use of a tensor that was overwritten in place")
        return value

    def _sequence(self, expression: relax.Expr, frame: Activation) -> Any:
        values = frame.values
        for block in expression.blocks:
            for binding in block.bindings:
                if binding.var in self._instead:
                    value = self._instead[binding.var]
                else:
                    value = self._evaluate(binding.value, frame)
                if isinstance(binding, relax.MatchCast):
                    frame.match([(binding.ty, value)], self.precision)
                values[binding.var] = value
        return self._evaluate(expression.body, frame)

    def _if(self, expression: relax.Expr, frame: Activation) -> Any:
        condition = self._evaluate(expression.cond, frame)
        taken = expression.true_branch if bool(np.asarray(condition)) else expression.false_branch
        return self._evaluate(taken, frame)

    def _constant(self, expression: relax.Expr, _frame: Activation) -> Any:
        value = expression.value
        if isinstance(value, tvm.DataType):
            return str(value)
        if not isinstance(value, tvm.runtime.Tensor):
            raise Unsupported("constant that is not a tensor")
        return self._argument(value.numpy())

    def _global(self, expression: relax.Expr, _frame: Activation) -> Any:
        function = self._functions.get(expression.name_hint)
        return Closure(function) if isinstance(function, relax.Function) else function

    def _call(self, expression: relax.Expr, frame: Activation) -> Any:
        op = expression.op
        if isinstance(op, tvm.ir.Op):
            compute = implementation(op.name)
            if compute is None:
                raise Unsupported(f"operator {op.name}")
            arguments = [self._evaluate(each, frame) for each in expression.args]
            request = Request(op.name, arguments, expression, self.precision, frame.value, self, frame.values)
            try:
                result = compute(request)
            except (ValueError, IndexError) as error:
                if op.name not in UNCOMPARED and has_static_shapes(expression):
                    raise
                raise Undefined(MISMATCH) from error
            if self.observer is not None:
                self.observer(request, result)
            return result
        called = self._evaluate(op, frame)
        arguments = [self._evaluate(each, frame) for each in expression.args]
        if isinstance(called, Closure):
            return self.invoke(called, arguments)
        types = [each.ty for each in expression.args]
        if isinstance(called, PackedFunction):
            return call_packed(self, called.name, arguments, types)
        return self._write(called, arguments, types)

    def _write(self, kernel: tirx.PrimFunc, arguments: Sequence[Any], types: Sequence[Any]) -> Any:
        """Call a kernel in a lowered program, which writes into tensors that the program has allocated."""
        places = [place for place, value in enumerate(arguments) if self.allocated(value)]
        for place, result in zip(places, run_kernel(self, kernel, arguments, types, places), strict=True):
            arguments[place][...] = result
        return ()


Handler = Callable[[Interpreter, Any, Activation], Any]
_HANDLERS: dict[type, Handler] = {
    **dict.fromkeys(
        (kind for kind in vars(tirx).values() if isinstance(kind, type)),
        lambda _, expression, frame: frame.number(expression),
    ),
    tirx.Var: Interpreter._variable,
    relax.Var: Interpreter._variable,
    relax.DataflowVar: Interpreter._variable,
    relax.GlobalVar: Interpreter._global,
    tvm.ir.GenericConst: Interpreter._constant,
    tvm.ir.StringImm: lambda _, expression, _frame: str(expression.value),
    relax.ExternFunc: lambda _, expression, _frame: PackedFunction(str(expression.global_symbol)),
    relax.SeqExpr: Interpreter._sequence,
    relax.If: Interpreter._if,
    relax.Tuple: lambda self, whole, frame: tuple([self._evaluate(each, frame) for each in whole.fields]),
    relax.TupleGetItem: lambda self, item, frame: self._evaluate(item.tuple_value, frame)[int(item.index)],
    relax.ShapeExpr: lambda _, shape, frame: ShapeValue(tuple([frame.value(each) for each in shape.values])),
    relax.Function: lambda _, function, frame: Closure(function, frame.values, frame),
    relax.Call: Interpreter._call,
}
if hasattr(relax, "PrimValue"):  # TVM 0.25 wraps scalars
    _HANDLERS[relax.PrimValue] = lambda _self, expression, frame: frame.number(expression.value)
if hasattr(relax, "DataTypeImm"):  # TVM before 0.27 has dtypes as expressions of their own
    _HANDLERS[relax.DataTypeImm] = lambda _self, expression, _frame: str(expression.value)
