"""Planted bugs behind a changed calling convention: TVM's passes, wrapped, with one thing wrong.

What each gives is well formed, has the right types, and is what it would be again: only a call through the adapter of
the convention shows it.  The clean twins are TVM's passes, kept from modules where they have defects of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from oracles.contract import Abi, Contract, Idempotence, NumericPromise

X = relax.transform
def _simple(module: Any) -> bool:
    """Whether no function of a module calls another, is local or impure: what TVM's passes have defects with."""
    functions = [function for function in module.functions.values() if isinstance(function, relax.Function)]
    return bool(functions) and "vdevice" not in module.global_infos and all(map(_plain, functions))


def _plain(function: Any) -> bool:
    if function.attrs is None or "global_symbol" not in function.attrs or "relax.force_pure" in function.attrs:
        return False
    strange = False

    def visit(expr: Any) -> None:
        nonlocal strange
        strange |= isinstance(expr, (relax.If, relax.Function)) or isinstance(expr.ty, (relax.FuncType, relax.AnyType))

    for block in function.body.blocks:
        for binding in block.bindings:
            strange |= not isinstance(binding, relax.VarBinding) or _calls_function(binding.value)
            relax.analysis.post_order_visit(binding.value, visit)
    return bool(function.is_pure) and not strange and all(_static(param.ty) for param in function.params)


def _calls_function(value: Any) -> bool:
    return isinstance(value, relax.Call) and not isinstance(value.op, tvm.ir.Op)


def _static(ty: Any) -> bool:
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return False
    return all(isinstance(dim, tvm.tirx.IntImm) for dim in ty.shape.values)


def _weighted(module: Any) -> bool:
    return any(_has_weights(function) for function in module.functions.values())


def _has_weights(function: Any) -> bool:
    attrs = getattr(function, "attrs", None)
    if attrs is None or "num_input" not in attrs:
        return False
    return 0 <= int(attrs["num_input"]) < len(function.params)


def _wrapped(name: str, build: Callable[[], Any], spoil: Callable[[Any], Any], applies: Callable[[Any], bool]) -> Any:
    """A pass that is TVM's followed by ``spoil`` on simple modules to which it applies, and nothing on others."""

    def run(module: Any, _context: Any) -> Any:
        if not _simple(module) or not applies(module):
            return module
        return spoil(build()(module))

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _same(module: Any) -> Any:
    return module


def _swaps(types: list[Any]) -> dict[int, int]:
    """The first two positions of equal types, exchanged; empty when there are none."""
    for left, one in enumerate(types):
        for right in range(left + 1, len(types)):
            if tvm_ffi.structural_equal(one, types[right]):
                return {left: right, right: left}
    return {}


def _replaced(function: Any, change: Mapping[int, Any]) -> Any:
    """The function with parameters, by position, used in place of others."""
    swapped = {function.params[old]: function.params[new] for old, new in change.items()}

    @relax.expr_functor.mutator
    class Exchange(relax.PyExprMutator):  # type: ignore[misc]
        def visit_var_(self, var: Any) -> Any:
            return swapped.get(var, var)

    body = Exchange().visit_expr(function.body)
    return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span)


def _on(module: Any, names: Callable[[str], bool], change: Callable[[Any], Any]) -> Any:
    changed = {var: change(f) if names(var.name_hint) else f for var, f in module.functions_items()}
    return tvm.IRModule(changed, attrs=module.attrs, global_infos=module.global_infos)


# -- lifted weights -------------------------------------------------------------------------------------------------


def _exchange_lifted(module: Any) -> Any:
    """Takes the second of two lifted weights of one type for the first."""

    def change(function: Any) -> Any:
        first = int(function.attrs["num_input"])
        swaps = _swaps([param.ty for param in function.params[first:]])
        return _replaced(function, {first + old: first + new for old, new in swaps.items()})

    return _on(module, lambda name: not name.endswith("transform_params"), change)


def lifted_in_another_order() -> Any:
    """Lifts weights, and hands two of them over in another order than it takes them."""
    return _wrapped("lifted_in_another_order", X.LiftTransformParams, _exchange_lifted, _weighted)


def lifted_in_another_order_clean() -> Any:
    """Lifts weights."""
    return _wrapped("lifted_in_another_order", X.LiftTransformParams, _same, _weighted)


# -- bundled weights ------------------------------------------------------------------------------------------------


def _exchange_fields(module: Any) -> Any:
    """Takes fields of the last parameter, a tuple, for each other."""

    def change(function: Any) -> Any:
        bundle = function.params[-1]
        swaps = _swaps(list(bundle.ty.fields))

        @relax.expr_functor.mutator
        class Exchange(relax.PyExprMutator):  # type: ignore[misc]
            def visit_tuple_getitem_(self, item: Any) -> Any:
                if item.tuple_value.same_as(bundle):
                    return relax.TupleGetItem(bundle, swaps.get(item.index, item.index))
                return item

        body = Exchange().visit_expr(function.body)
        return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)

    return _on(module, lambda name: True, change)


def bundled_in_another_order() -> Any:
    """Bundles weights, and takes two fields of the bundle for each other."""
    return _wrapped("bundled_in_another_order", X.BundleModelParams, _exchange_fields, _weighted)


def bundled_in_another_order_clean() -> Any:
    """Bundles weights."""
    return _wrapped("bundled_in_another_order", X.BundleModelParams, _same, _weighted)


# -- callbacks ------------------------------------------------------------------------------------------------------


def _exchange_numbers(module: Any, callback: Callable[[Any], bool], swaps: Callable[[Any], dict[int, int]]) -> Any:
    """Calls a callback that is a parameter with two numbers exchanged."""

    def change(function: Any) -> Any:
        table = swaps(function)

        @relax.expr_functor.mutator
        class Exchange(relax.PyExprMutator):  # type: ignore[misc]
            def visit_call_(self, call: Any) -> Any:
                if not (isinstance(call.op, relax.Var) and callback(call.op)):
                    return call
                number = int(call.args[0].value) if hasattr(call.args[0], "value") else int(call.args[0])
                args = [relax.prim_value(table.get(number, number)), *call.args[1:]]
                return relax.Call(call.op, args, call.attrs, call.ty_args, call.span)

        body = Exchange().visit_expr(function.body)
        return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)

    return _on(module, lambda name: True, change)


def _is_callback(var: Any) -> bool:
    return isinstance(var.ty, relax.FuncType)


class _Getting:
    """LazyGetInput with the weights' numbers exchanged; what they are is seen before the pass."""

    def __init__(self, wrong: bool) -> None:
        self.wrong = wrong

    def __call__(self, module: Any) -> Any:
        (function,) = module.functions.values()
        first = int(function.attrs["num_input"])
        swaps = _swaps([param.ty for param in function.params[first:]]) if self.wrong else {}
        return _exchange_numbers(X.LazyGetInput()(module), _is_callback, lambda _: swaps)


def fetches_other_weight() -> Any:
    """Asks the callback for the second of two weights of one type where it needs the first."""
    return _wrapped("fetches_other_weight", lambda: _Getting(True), _same, _weighted)


def fetches_other_weight_clean() -> Any:
    """Asks the callback for weights."""
    return _wrapped("fetches_other_weight", lambda: _Getting(False), _same, _weighted)


class _Setting:
    """LazySetOutput with the outputs' numbers exchanged."""

    def __init__(self, wrong: bool) -> None:
        self.wrong = wrong

    def __call__(self, module: Any) -> Any:
        plain = X.ToNonDataflow()(module)
        (function,) = plain.functions.values()
        fields = list(function.body.body.fields) if isinstance(function.body.body, relax.Tuple) else []
        swaps = _swaps([field.ty for field in fields]) if self.wrong else {}
        return _exchange_numbers(X.LazySetOutput()(plain), _is_callback, lambda _: swaps)


def sets_other_output() -> Any:
    """Hands over the second of two outputs of one type as the first."""
    return _wrapped("sets_other_output", lambda: _Setting(True), _same, lambda module: True)


def sets_other_output_clean() -> Any:
    """Hands over outputs."""
    return _wrapped("sets_other_output", lambda: _Setting(False), _same, lambda module: True)


# -- other dtypes ---------------------------------------------------------------------------------------------------


def _wider(var: Any) -> Any:
    return relax.TensorType(var.ty.shape, "float64") if str(var.ty.dtype) == "float32" else None


class _Widening:
    """UpdateParamType that makes float32 parameters float64; wrongly with the first of them twice as large."""

    def __init__(self, wrong: bool) -> None:
        self.wrong = wrong

    def __call__(self, module: Any) -> Any:
        after = X.UpdateParamType(_wider)(module)
        return _on(after, lambda name: True, self._doubled) if self.wrong else after

    def _doubled(self, function: Any) -> Any:
        wide = [param for param in function.params if str(param.ty.dtype) == "float64"]
        if not wide or not function.body.blocks:
            return function
        twice = relax.Var("twice", wide[0].ty)
        first = relax.BindingBlock([relax.VarBinding(twice, relax.op.add(wide[0], wide[0]))])

        @relax.expr_functor.mutator
        class Exchange(relax.PyExprMutator):  # type: ignore[misc]
            def visit_var_(self, var: Any) -> Any:
                return twice if var.same_as(wide[0]) else var

        body = Exchange().visit_expr(function.body)
        made = relax.SeqExpr([first, *body.blocks], body.body)
        whole = relax.Function(function.params, made, function.ret_ty, function.is_pure, function.attrs)
        return relax.BlockBuilder().normalize(whole)


def _widens(module: Any) -> bool:
    """Whether all that the function meets is float32, so that the wider types fit each other."""
    (function,) = module.functions.values()
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    types = [*(param.ty for param in function.params), *(binding.var.ty for binding in bindings)]
    plain = all(isinstance(ty, relax.TensorType) and str(ty.dtype) == "float32" for ty in types)
    constants = [arg for each in bindings for arg in getattr(each.value, "args", ()) if not isinstance(arg, relax.Var)]
    return plain and all(isinstance(arg, relax.ShapeExpr) for arg in constants)


def widens_and_doubles() -> Any:
    """Retypes parameters, and doubles the first of them."""
    return _wrapped("widens_and_doubles", lambda: _Widening(True), _same, _widens)


def widens_and_doubles_clean() -> Any:
    """Retypes parameters."""
    return _wrapped("widens_and_doubles", lambda: _Widening(False), _same, _widens)


def _contract(name: str, abi: Abi, numeric: NumericPromise = NumericPromise.BIT_EXACT) -> Contract:
    return Contract(
        name, idempotence=Idempotence.UNKNOWN, numeric=numeric, abi=abi, keeps_public_signatures=False
    )


_CONTRACTS = {
    "lifted_in_another_order": Abi.LIFT_TRANSFORM_PARAMS,
    "bundled_in_another_order": Abi.BUNDLE_MODEL_PARAMS,
    "fetches_other_weight": Abi.LAZY_GET_INPUT,
    "sets_other_output": Abi.LAZY_SET_OUTPUT,
    "widens_and_doubles": Abi.RETYPE_PARAMS,
}
for _name, _abi in _CONTRACTS.items():
    _promise = NumericPromise.LOSSY if _abi is Abi.RETYPE_PARAMS else NumericPromise.BIT_EXACT
    for _factory in (globals()[_name], globals()[f"{_name}_clean"]):
        _factory.contract = _contract(_name, _abi, _promise)
