"""Planted bugs for the numeric oracle that resemble miscompilations of real compilers: one operator, one detail.

Each rewrites calls of operators into calls of the same type; where the detail would change the type, the call stays.
The clean twins rewrite the same calls with the detail right, behind a reshape to the shape that is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from relaxkit.compat.shims import type_key
from relaxkit.passes.contract import Contract, Idempotence, NumericPromise

op = relax.op

Change = Callable[[Any, Any, list[Any]], Any]
"""From a builder, a call and its new arguments to an expression of the same type, or ``None`` to leave it."""


def _rewrite(name: str, change: Change, wrong: bool) -> Any:
    """A pass that replaces operator calls by what ``change`` makes of them, when that is of the very same type."""

    @relax.expr_functor.mutator
    class Rewriter(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            if not isinstance(call.op, tvm.ir.Op) or not _known(call.ty):
                return call
            changed = change(self, call, list(call.args))
            if changed is None:
                return call
            new = self.builder_.normalize(changed)
            if not tvm_ffi.structural_equal(new.ty, call.ty):
                return call
            return new if wrong else op.reshape(new, call.ty.shape)

    def run(mod: Any, _context: Any) -> Any:
        rewriter = Rewriter(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
        return rewriter.builder_.get()

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _known(ty: Any) -> bool:
    return isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and bool(str(ty.dtype))


def _dims(expr: Any) -> list[Any]:
    return list(expr.ty.shape.values) if _known(expr.ty) else []


def _numbers(expr: Any) -> list[int] | None:
    """The dims of an expression when they are numbers."""
    dims = _dims(expr)
    return [int(dim) for dim in dims] if all(isinstance(dim, tvm.tirx.IntImm) for dim in dims) else None


def _again(call: Any, args: list[Any], **attributes: Any) -> Any:
    """The call with other arguments and some other attributes."""
    if not attributes:
        return relax.Call(call.op, args, call.attrs, call.ty_args, call.span)
    kind = type(call.attrs)
    fields = {field.name: getattr(call.attrs, field.name) for field in kind.__tvm_ffi_type_info__.fields}
    attrs = tvm.ir.make_node(type_key(kind), **{**fields, **attributes})
    return relax.Call(call.op, args, attrs, call.ty_args, call.span)


_DEFAULTS: dict[str, dict[str, Any]] = {
    "relax.nn.leakyrelu": {"alpha": 0.01},
    "relax.cumsum": {"exclusive": False},
    "relax.cumprod": {"exclusive": False},
    "relax.sort": {"descending": False},
    "relax.argsort": {"descending": False},
    "relax.nn.avg_pool2d": {"count_include_pad": False},
    "relax.nn.softplus": {"beta": 1.0},
}


def _attribute(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        lost = _DEFAULTS.get(call.op.name)
        return None if lost is None else _again(call, args, **(lost if wrong else {}))

    return _rewrite("lost_attribute", change, wrong)


def lost_attribute() -> Any:
    """Rebuilds a call without an attribute, which is then what it is by default."""
    return _attribute(True)


def lost_attribute_clean() -> Any:
    """Rebuilds it with the attribute."""
    return _attribute(False)


_BINARY = frozenset(f"relax.{name}" for name in ("add", "subtract", "multiply", "maximum", "minimum", "divide"))


def _broadcast(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        if call.op.name not in _BINARY:
            return None
        left, right = _numbers(args[0]), _numbers(args[1])
        if left is None or right is None or len(right) != 1 or len(left) < 2 or left[-1] != left[-2] != 1:
            return None
        return _again(call, [args[0], op.reshape(args[1], [right[0], 1] if wrong else [1, right[0]])])

    return _rewrite("swapped_broadcast", change, wrong)


def swapped_broadcast() -> Any:
    """Broadcasts a vector along the rows of a square matrix instead of its columns."""
    return _broadcast(True)


def swapped_broadcast_clean() -> Any:
    """Along the columns."""
    return _broadcast(False)


def _padding(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        if call.op.name == "relax.nn.pad":
            widths = [int(width) for width in call.attrs.pad_width]
            turned = [width for pair in zip(widths[1::2], widths[::2], strict=True) for width in pair]
            return _again(call, args, pad_width=turned if wrong else widths)
        padding = getattr(call.attrs, "padding", None)
        if padding is None or len(padding) % 2:
            return None
        half, sides = len(padding) // 2, [int(side) for side in padding]
        return _again(call, args, padding=sides[half:] + sides[:half] if wrong else sides)

    return _rewrite("padding_side", change, wrong)


def padding_side() -> Any:
    """Pads before what is to be padded behind, and behind what before."""
    return _padding(True)


def padding_side_clean() -> Any:
    """Pads where it is asked to."""
    return _padding(False)


def _slice(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        if call.op.name != "relax.strided_slice" or not all(isinstance(arg, relax.Tuple) for arg in args[1:4]):
            return None
        begin, end = ([getattr(each, "value", None) for each in arg.fields] for arg in args[2:4])
        if not all(isinstance(each, int) and 0 < each < 8 for each in [*begin, *end]):
            return None
        step = int(wrong)
        moved = [relax.Tuple([relax.prim_value(each - step) for each in limits]) for limits in (begin, end)]
        return _again(call, [args[0], args[1], *moved, *args[4:]])

    return _rewrite("slice_off_by_one", change, wrong)


def slice_off_by_one() -> Any:
    """Counts the first element of a slice from one."""
    return _slice(True)


def slice_off_by_one_clean() -> Any:
    """Counts it from zero."""
    return _slice(False)


_INTEGERS = frozenset(f"relax.{name}" for name in ("add", "multiply", "subtract", "sum", "prod", "cumsum", "cumprod"))


def _narrow(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        dtype = str(call.ty.dtype)
        scan = getattr(call.attrs, "dtype", None) is not None
        if call.op.name not in _INTEGERS or dtype not in ("int32", "int64") or scan:
            return None
        if any(not _known(arg.ty) or str(arg.ty.dtype) != dtype for arg in args):
            return None
        inside = "uint8" if wrong else "int64"
        return op.astype(_again(call, [op.astype(arg, inside) for arg in args]), dtype)

    return _rewrite("narrow_index", change, wrong)


def narrow_index() -> Any:
    """Computes with 32 and 64 bits as if every number were an index from 0 to 255."""
    return _narrow(True)


def narrow_index_clean() -> Any:
    """Computes with 64 bits."""
    return _narrow(False)


_ANY_NUMBER = frozenset(f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "abs", "negative"))


def _nan(wrong: bool) -> Any:
    def change(builder: Any, call: Any, args: list[Any]) -> Any:
        if call.op.name not in _ANY_NUMBER or str(call.ty.dtype) not in ("float32", "float64"):
            return None
        value = builder.builder_.emit(_again(call, args))
        number = relax.const(np.ones((), str(call.ty.dtype)), str(call.ty.dtype))
        return op.where(op.isnan(value), number if wrong else value, value)

    return _rewrite("lost_nan", change, wrong)


def lost_nan() -> Any:
    """Takes NaN for a number, as maxima do that compare the wrong way round."""
    return _nan(True)


def lost_nan_clean() -> Any:
    """Lets NaN through."""
    return _nan(False)


for _factory in (lost_nan, lost_nan_clean):
    # Only who promises exact bits is asked about NaN.
    _factory.contract = Contract(  # type: ignore[attr-defined]  # where it is looked for
        _factory.__name__, idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.BIT_EXACT
    )


def _axis(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        rank, axis = len(_dims(args[0])) if args else 0, getattr(call.attrs, "axis", None)
        if not rank or axis is None or call.op.name == "relax.expand_dims":  # its axes count in the rank of its result
            return None
        whole = isinstance(axis, int)
        axes = [axis] if whole else [int(each) for each in axis]
        if all(each >= 0 for each in axes):
            return None
        right = [each + rank * (each < 0) for each in axes]
        moved = [(each + rank + 1) % rank if each < 0 else each for each in axes] if wrong else right
        return _again(call, args, axis=moved[0] if whole else moved) if len(set(moved)) == len(moved) else None

    return _rewrite("last_axis", change, wrong)


def last_axis() -> Any:
    """Takes the axis -1 for the rank, which wraps around to the first."""
    return _axis(True)


def last_axis_clean() -> Any:
    """Takes it for the last."""
    return _axis(False)


def _transposed(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        if call.op.name != "relax.permute_dims":
            return None
        return op.reshape(args[0], call.ty.shape) if wrong else _again(call, args)

    return _rewrite("reshaped_transpose", change, wrong)


def reshaped_transpose() -> Any:
    """Transposes by giving the same data another shape."""
    return _transposed(True)


def reshaped_transpose_clean() -> Any:
    """Transposes."""
    return _transposed(False)


def _quotient(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        if call.op.name not in ("relax.floor_divide", "relax.floor_mod") or not str(call.ty.dtype).startswith("int"):
            return None
        if not all(_known(arg.ty) for arg in args):
            return None
        if not wrong:
            return _again(call, args)
        sizes = _again(call, [op.abs(arg) for arg in args])
        sign = op.sign(args[0])  # that of the remainder; the quotient's is that of both
        return op.multiply(op.multiply(sign, op.sign(args[1])) if call.op.name == "relax.floor_divide" else sign, sizes)

    return _rewrite("toward_zero", change, wrong)


def toward_zero() -> Any:
    """Divides integers toward zero, as C does, and takes its remainder, where the quotient is to be rounded down."""
    return _quotient(True)


def toward_zero_clean() -> Any:
    """Rounds down."""
    return _quotient(False)


def _identity(wrong: bool) -> Any:
    def change(_builder: Any, call: Any, args: list[Any]) -> Any:
        if call.op.name != "relax.max" or str(call.ty.dtype) not in ("float32", "int32", "int64"):
            return None
        return op.maximum(_again(call, args), relax.const(0, str(call.ty.dtype))) if wrong else _again(call, args)

    return _rewrite("zero_identity", change, wrong)


def zero_identity() -> Any:
    """Begins a maximum with zero."""
    return _identity(True)


def zero_identity_clean() -> Any:
    """Begins it with the first element."""
    return _identity(False)
