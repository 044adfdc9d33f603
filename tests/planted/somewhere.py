"""Planted bugs for the numeric oracle that are wrong only in some place: a shape, a function, a branch, a device.

All do the same harm, where they do any: the result of an elementwise operator is negated.  The clean twins negate it
twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

op = relax.op
ELEMENTWISE = {
    f"relax.{name}"
    for names in (
        ("abs", "atan", "ceil", "clip", "cos", "cosh", "erf", "exp", "floor", "negative", "round", "sigmoid", "sign"),
        ("sin", "sinh", "sqrt", "square", "tanh", "trunc", "nn.gelu", "nn.relu", "nn.silu"),
        ("add", "divide", "maximum", "minimum", "multiply", "subtract", "where"),
    )
    for name in names
}
SIGNED = ("float32", "float64", "int8", "int16", "int32", "int64")


class _Place:
    """Where the mutator is.

    Attributes:
        index: Number of the Relax function in the module, in the module's order, from 0.
        function: The Relax function of the module.
        composite: Whether this or an enclosing local function is a composite one.
        branch: Depth of ``If`` branches.
        then: Whether it is in a then branch.
        first_with_if: Whether this function is the first one with an ``If``.
    """

    def __init__(self, index: int, function: Any, first_with_if: bool) -> None:
        self.index = index
        self.function = function
        self.composite = 0
        self.branch = 0
        self.then = 0
        self.first_with_if = first_with_if


def _turn(value: Any, times: int) -> Any:
    for _ in range(times):
        value = op.negative(value)
    return value


def _only_last(changed: Any, value: Any) -> Any:
    """The last element of the one, the others of the other."""
    mask = np.zeros([int(dim) for dim in value.ty.shape.values], "bool")
    mask.flat[-1:] = True
    return op.where(relax.const(mask, "bool"), changed, value)


def _rewrite(name: str, where: Any, times: int, last_only: bool = False) -> Any:
    """A pass that negates ``times`` times each elementwise call for which ``where(place, call)`` holds.

    With ``last_only``, only the last element of what it gives.
    """

    @relax.expr_functor.mutator
    class Turner(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.place = _Place(0, None, False)

        def visit_function_(self, function: Any) -> Any:
            composite = "Composite" in (function.attrs or {})
            self.place.composite += composite
            new = super().visit_function_(function)
            self.place.composite -= composite
            return new

        def visit_if_(self, branch: Any) -> Any:
            cond = self.visit_expr(branch.cond)
            self.place.branch += 1
            self.place.then += 1
            then = self.visit_expr(branch.true_branch)
            self.place.then -= 1
            new = relax.If(cond, then, self.visit_expr(branch.false_branch), branch.span)
            self.place.branch -= 1
            return new

        def visit_call_(self, call: Any) -> Any:
            args = [self.visit_expr(arg) for arg in call.args]
            if not isinstance(call.op, tvm.ir.Op):
                return relax.Call(self.visit_expr(call.op), args, call.attrs, call.ty_args, call.span)
            new = relax.Call(call.op, args, call.attrs, call.ty_args, call.span)
            if call.op.name not in ELEMENTWISE or not _known(call.ty) or not where(self.place, call):
                return new
            value = self.builder_.normalize(new)
            return _only_last(_turn(value, times), value) if last_only else _turn(value, times)

    def run(mod: Any, _context: Any) -> Any:
        turner = Turner(mod)
        functions = [(v, f) for v, f in mod.functions_items() if isinstance(f, relax.Function)]
        functions.sort(key=lambda item: item[0].name_hint)
        with_if = next((index for index, (_, function) in enumerate(functions) if _has_if(function)), -1)
        for index, (variable, function) in enumerate(functions):
            turner.place = _Place(index, function, index == with_if)
            turner.builder_.update_func(variable, turner.visit_expr(function))
        return turner.builder_.get()

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _known(ty: Any) -> bool:
    return isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and str(ty.dtype) in SIGNED


def _has_if(function: Any) -> bool:
    found = False

    def visit(expr: Any) -> None:
        nonlocal found
        found = found or isinstance(expr, relax.If)

    relax.analysis.post_order_visit(function, visit)
    return found


def _symbolic(place: _Place, call: Any) -> bool:
    return any(not isinstance(dim, tvm.tirx.IntImm) for dim in call.ty.shape.values)


def symbolic_dim() -> Any:
    """Wrong only where the shape has a symbolic dim."""
    return _rewrite("symbolic_dim", _symbolic, 1)


def symbolic_dim_clean() -> Any:
    """Right there."""
    return _rewrite("symbolic_dim", _symbolic, 2)


def third_of_functions() -> Any:
    """Wrong only in the third function of the module, by name."""
    return _rewrite("third_of_functions", lambda place, call: place.index == 2, 1)


def third_of_functions_clean() -> Any:
    """Right there."""
    return _rewrite("third_of_functions", lambda place, call: place.index == 2, 2)


def inside_branch() -> Any:
    """Wrong only inside a branch of an ``If``."""
    return _rewrite("inside_branch", lambda place, call: place.branch > 0, 1)


def inside_branch_clean() -> Any:
    """Right there."""
    return _rewrite("inside_branch", lambda place, call: place.branch > 0, 2)


def inside_composite() -> Any:
    """Wrong only in a composite function."""
    return _rewrite("inside_composite", lambda place, call: place.composite > 0, 1)


def inside_composite_clean() -> Any:
    """Right there."""
    return _rewrite("inside_composite", lambda place, call: place.composite > 0, 2)


def _on_device(place: _Place, call: Any) -> bool:
    return any(isinstance(arg.ty, relax.TensorType) and arg.ty.vdevice is not None for arg in call.args)


def on_device() -> Any:
    """Wrong only on values that live on a virtual device."""
    return _rewrite("on_device", _on_device, 1)


def on_device_clean() -> Any:
    """Right there."""
    return _rewrite("on_device", _on_device, 2)


def int8_only() -> Any:
    """Wrong only for int8."""
    return _rewrite("int8_only", lambda place, call: str(call.ty.dtype) == "int8", 1)


def int8_only_clean() -> Any:
    """Right there."""
    return _rewrite("int8_only", lambda place, call: str(call.ty.dtype) == "int8", 2)


def rank_zero() -> Any:
    """Wrong only for scalars."""
    return _rewrite("rank_zero", lambda place, call: not len(call.ty.shape.values), 1)


def rank_zero_clean() -> Any:
    """Right there."""
    return _rewrite("rank_zero", lambda place, call: not len(call.ty.shape.values), 2)


def _first_then(place: _Place, call: Any) -> bool:
    filled = not _symbolic(place, call) and all(int(dim) for dim in call.ty.shape.values)
    return place.first_with_if and place.then > 0 and filled


def one_branch() -> Any:
    """Wrong only in the last element of what the then branches of the first function with an ``If`` compute."""
    return _rewrite("one_branch", _first_then, 1, last_only=True)


def one_branch_clean() -> Any:
    """Right there."""
    return _rewrite("one_branch", _first_then, 2, last_only=True)
