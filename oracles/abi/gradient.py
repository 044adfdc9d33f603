"""Gradient: callers stay as they are, and ``<f>_adjoint`` returns what ``f`` returns and the gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from oracles.abi.frame import Frame, Runner

ADJOINT = "_adjoint"
_PASS = "Gradient"


@dataclass(frozen=True, slots=True)
class Gradient:
    """``f(a, b)`` stays; ``f_adjoint(a, b)`` returns ``(f(a, b), (df/da, df/db))``.

    Attributes:
        function: Symbol of the function.
        adjoint: Symbol of its adjoint.
        parameters: Positions of the parameters that it differentiates by, in order.
        target: Where the differentiated scalar is in what the function returns.
        open: Positions of parameters whose gradient TVM documents to be no derivative.
    """

    function: str
    adjoint: str
    parameters: tuple[int, ...]
    target: tuple[int, ...]
    open: tuple[int, ...] = ()

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Leave the call as it is."""
        return frame


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments of the pass.

    Attributes:
        function: Name of the function.
        parameters: Names of the parameters to differentiate by; ``None`` for all.
        target: Which field of a returned tuple is the target.
    """

    function: str
    parameters: tuple[str, ...] | None
    target: int


def request_of(expression: str) -> Request | None:
    """What an expression that builds the pass asks for; ``None`` when its text does not tell.

    ``require_grads`` takes variables of the module that the pass will be applied to.  A text that is to build the pass
    for any module looks them up by name when it meets the module::

        tvm.transform.module_pass(
            lambda mod, ctx: relax.transform.Gradient("f", [p for p in mod["f"].params if p.name in ("w",)], 0)(mod),
            opt_level=0, name="Gradient")
    """
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError:
        return None
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == _PASS:
            given = dict(zip(("func_name", "require_grads", "target_index"), call.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
            return _request(given)
    return None


def _request(given: dict[str, ast.expr]) -> Request | None:
    try:
        function = ast.literal_eval(given["func_name"])
        target = ast.literal_eval(given.get("target_index", ast.Constant(0)))
        asked = given.get("require_grads", ast.Constant(None))
        if isinstance(asked, ast.ListComp):
            condition = asked.generators[0].ifs[0]
            assert isinstance(condition, ast.Compare)
            return Request(function, tuple(ast.literal_eval(condition.comparators[0])), target)
        return Request(function, None, target) if ast.literal_eval(asked) is None else None
    except (ValueError, KeyError, IndexError, AssertionError):
        return None


def adapter_of(expression: str, before: Any, after: Any) -> Gradient | None:
    """How to call what the pass has added to a module; ``None`` when nothing can be called from outside.

    A user's pass is taken to differentiate by all parameters where its text does not tell.
    """
    request = request_of(expression) or _seen(before, after)
    if request is None:
        return None
    found = [function for var, function in before.functions_items() if var.name_hint == request.function]
    if not found or not isinstance(found[0], relax.Function) or "global_symbol" not in (found[0].attrs or {}):
        return None
    function = found[0]
    wanted = request.parameters
    positions = tuple(i for i, param in enumerate(function.params) if wanted is None or param.name in wanted)
    target = (request.target,) if isinstance(function.body.body, relax.Tuple) else ()
    symbol = str(function.attrs["global_symbol"])
    return Gradient(symbol, request.function + ADJOINT, positions, target, _open(function))


def _seen(before: Any, after: Any) -> Request | None:
    """What must have been asked for, by the adjoint that is there now."""
    old = {var.name_hint for var in before.get_global_vars()}
    new = [var.name_hint for var in after.get_global_vars() if var.name_hint not in old]
    names = [name.removesuffix(ADJOINT) for name in new if name.endswith(ADJOINT)]
    return Request(names[0], None, 0) if len(names) == 1 and names[0] in old else None


def _open(function: Any) -> tuple[int, ...]:
    """Parameters whose gradient is no derivative, as documented: what reaches the target through an undifferentiated
    operand.

    ``_op_gradient.py`` says of these operands that there is no gradient for them: targets and weights of ``nll_loss``
    ("not available"), the value of ``full`` and ``full_like`` ("the gradients are no_grad").  What becomes an integer
    on the way is piecewise constant, and TVM says nothing of it.
    """
    reached: dict[Any, set[int]] = {param: {index} for index, param in enumerate(function.params)}
    lost: set[int] = set()
    for block in function.body.blocks:
        for binding in block.bindings:
            value = binding.value
            sources = _sources(value, reached)
            if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op):
                for operand in value.args[_first_closed(str(value.op.name), value) :]:
                    lost |= _sources(operand, reached)
            reached[binding.var] = set() if _is_discrete(binding.var.ty) else sources
            if _rounds(value):
                lost |= sources
    return tuple(sorted(lost))


def _first_closed(name: str, call: Any) -> int:
    """Index of the first operand without a gradient."""
    return {"relax.nn.nll_loss": 1, "relax.full": 1, "relax.full_like": 1}.get(name, len(call.args))


def _rounds(value: Any) -> bool:
    cast = isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.astype"
    return cast and "int" in str(value.ty.dtype) and "float" in str(value.args[0].ty.dtype)


def _is_discrete(ty: Any) -> bool:
    return isinstance(ty, relax.TensorType) and "float" not in str(ty.dtype)


def _sources(value: Any, reached: dict[Any, set[int]]) -> set[int]:
    found: set[int] = set()
    for var in _variables(value):
        found |= reached.get(var, set())
    return found


def _variables(value: Any) -> Iterator[Any]:
    if isinstance(value, relax.Var):
        yield value
    elif isinstance(value, relax.TupleGetItem):
        yield from _variables(value.tuple_value)
    else:
        items: Sequence[Any] = getattr(value, "args", None) or getattr(value, "fields", None) or ()
        for item in items:
            yield from _variables(item)
