"""Planted bugs behind a changed calling convention: TVM's passes, given a function in which a value is another.

What they give is well formed, has the right types, and is what it would be again: only a call through the adapter of
the convention shows it.  The clean twins are TVM's passes on the same modules: such as have no defects of TVM's own
(functions that call each other, closures, effects, devices).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.passes.contract import Idempotence, Locality
from relaxkit.passes.contracts import CONTRACTS

X = relax.transform

_GRADIENTS = frozenset(
    (
        "relax.add", "relax.subtract", "relax.multiply", "relax.divide", "relax.negative", "relax.exp", "relax.log",
        "relax.tanh", "relax.sigmoid", "relax.sin", "relax.cos", "relax.sqrt", "relax.abs", "relax.maximum",
        "relax.minimum", "relax.sum", "relax.mean", "relax.variance", "relax.nn.relu", "relax.nn.silu",
        "relax.nn.softmax", "relax.nn.log_softmax", "relax.permute_dims", "relax.expand_dims", "relax.less",
        "relax.greater", "relax.equal", "relax.not_equal", "relax.less_equal", "relax.greater_equal",
    )
)  # fmt: skip
"""Operators whose gradients TVM has right."""


def _functions(module: Any) -> dict[str, Any]:
    """The public functions of a simple module by name; nothing of any other module."""
    functions = {var.name_hint: f for var, f in module.functions_items() if isinstance(f, relax.Function)}
    public = {name: f for name, f in functions.items() if f.attrs is not None and "global_symbol" in f.attrs}
    called = {var.name_hint for function in functions.values() for var in relax.analysis.all_global_vars(function)}
    simple = not called & set(public) and "vdevice" not in module.global_infos
    return public if simple and all(map(_is_plain, functions.values())) else {}


def _is_plain(function: Any) -> bool:
    """Whether a function has neither local functions nor effects, nor says where lifting is to stop."""
    strange = not function.is_pure or (function.attrs is not None and "relax.force_pure" in function.attrs)

    def visit(expr: Any) -> None:
        nonlocal strange
        strange |= isinstance(expr, relax.Function)
        strange |= isinstance(expr, relax.Call) and "stop_lift" in str(getattr(expr.op, "name", ""))

    relax.analysis.post_order_visit(function.body, visit)
    return not strange


def _static(param: Any) -> bool:
    if not isinstance(param.ty, relax.TensorType) or not isinstance(param.ty.shape, relax.ShapeExpr):
        return False
    return all(isinstance(dim, tvm.tirx.IntImm) for dim in param.ty.shape.values)


def _exchanged(items: Sequence[Any]) -> list[Any]:
    """The items with the first two of equal static types exchanged; empty when there are none."""
    for left, one in enumerate(items):
        for right in range(left + 1, len(items)):
            if _static(one) and tvm_ffi.structural_equal(one.ty, items[right].ty):
                made = list(items)
                made[left], made[right] = items[right], one
                return made
    return []


def _with_parts(function: Any, params: Sequence[Any], body: Any) -> Any:
    return relax.Function(list(params), body, function.ret_ty, function.is_pure, function.attrs, function.span)


def _weight_reversed(function: Any) -> Any | None:
    """The function with its last weight read back to front."""
    number = int(function.attrs["num_input"]) if "num_input" in function.attrs else len(function.params)
    turned = [index for index in range(number, len(function.params)) if _turns(function.params[index])]
    if not turned:
        return None
    old = function.params[turned[-1]]
    new = relax.Var(old.name, old.ty)
    # What was the parameter becomes a variable of the body, so that nothing in it has to change.
    binding = relax.VarBinding(old, relax.BlockBuilder().normalize(relax.op.flip(new, 0)))
    params = [new if param.same_as(old) else param for param in function.params]
    body = relax.SeqExpr([relax.BindingBlock([binding]), *function.body.blocks], function.body.body)
    return relax.BlockBuilder().normalize(_with_parts(function, params, body))


def _fetched_reversed(function: Any) -> Any | None:
    """The same; TVM cannot parse the callback of a function with symbolic dims."""
    return _weight_reversed(function) if not relax.analysis.defined_symbolic_vars(function) else None


def _turns(param: Any) -> bool:
    return _static(param) and param.ty.ndim > 0 and int(param.ty.shape.values[0]) > 1


def _outputs_exchanged(function: Any) -> Any | None:
    """The function with two fields of one type exchanged in the tuple that it returns."""
    result = function.body.body
    fields = _exchanged(list(result.fields)) if isinstance(result, relax.Tuple) else []
    if not fields:
        return None
    return _with_parts(function, function.params, relax.SeqExpr(function.body.blocks, relax.Tuple(fields)))


def _wrapped(name: str, build: Callable[[], Any], spoilt: Callable[[Any], Any], wrong: bool) -> Any:
    """TVM's pass on modules where ``spoilt`` finds something, which it gets spoilt where it is to be wrong."""

    def run(module: Any, _context: Any) -> Any:
        # TVM's own defects are not what is planted here.
        if not _functions(module) or not relax.analysis.check_well_formed(build()(module)):
            return module
        changed = {name: new for name, old in _functions(module).items() if (new := spoilt(old)) is not None}
        if not changed:
            return module
        given = {var: changed.get(var.name_hint, f) if wrong else f for var, f in module.functions_items()}
        return build()(tvm.IRModule(given, attrs=module.attrs, global_infos=module.global_infos))

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def lifts_reversed() -> Any:
    """Lifts weights, and reads one of them back to front."""
    return _wrapped("lifts_reversed", X.LiftTransformParams, _weight_reversed, True)


def lifts_reversed_clean() -> Any:
    """Lifts weights."""
    return _wrapped("lifts_reversed", X.LiftTransformParams, _weight_reversed, False)


def bundles_reversed() -> Any:
    """Bundles weights, and reads one of them back to front."""
    return _wrapped("bundles_reversed", X.BundleModelParams, _weight_reversed, True)


def bundles_reversed_clean() -> Any:
    """Bundles weights."""
    return _wrapped("bundles_reversed", X.BundleModelParams, _weight_reversed, False)


def fetches_reversed() -> Any:
    """Asks the callback for weights, and reads one of them back to front."""
    return _wrapped("fetches_reversed", X.LazyGetInput, _fetched_reversed, True)


def fetches_reversed_clean() -> Any:
    """Asks the callback for weights."""
    return _wrapped("fetches_reversed", X.LazyGetInput, _fetched_reversed, False)


def _setting() -> Any:
    return tvm.transform.Sequential([X.ToNonDataflow(), X.LazySetOutput()])


def sets_other_output() -> Any:
    """Hands over the second of two outputs of one type as the first."""
    return _wrapped("sets_other_output", _setting, _outputs_exchanged, True)


def sets_other_output_clean() -> Any:
    """Hands over outputs."""
    return _wrapped("sets_other_output", _setting, _outputs_exchanged, False)


def _loss(module: Any) -> str:
    """Name of a function that TVM differentiates rightly by all its parameters; empty when there is none."""
    for var, function in module.functions_items():
        if not isinstance(function, relax.Function) or not _is_plain(function):
            continue
        blocks, result = function.body.blocks, function.body.body
        if len(blocks) != 1 or not isinstance(blocks[0], relax.DataflowBlock) or not isinstance(result, relax.Var):
            continue
        scalar = isinstance(result.ty, relax.TensorType) and result.ty.ndim == 0
        if scalar and all(map(_single, (*function.params, result))) and all(map(_differentiable, blocks[0].bindings)):
            return str(var.name_hint)
    return ""


def _single(value: Any) -> bool:
    return isinstance(value.ty, relax.TensorType) and str(value.ty.dtype) in ("float32", "float64")


def _differentiable(binding: Any) -> bool:
    value = binding.value
    called = isinstance(value, relax.Call) and str(getattr(value.op, "name", "")) in _GRADIENTS
    decided = isinstance(binding.var.ty, relax.TensorType) and str(binding.var.ty.dtype) == "bool"
    return (_single(binding.var) or decided) and (called or isinstance(value, relax.Var))


def _differentiated(name: str, wrong: bool) -> Any:
    def run(module: Any, _context: Any) -> Any:
        loss = _loss(module)
        if not loss or f"{loss}_adjoint" in {var.name_hint for var in module.get_global_vars()}:
            return module
        try:
            after = X.Gradient(loss)(module)
        except TypeError:  # it needs static shapes
            return module
        return _negated(after, f"{loss}_adjoint") if wrong else after

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _negated(module: Any, name: str) -> Any:
    """The adjoint with the sign of its last gradient turned."""
    adjoint = module[name]
    result, gradients = adjoint.body.body.fields
    *others, last = gradients.fields
    builder = relax.BlockBuilder()
    turned = relax.Var("turned", last.ty)
    block = relax.BindingBlock([relax.VarBinding(turned, builder.normalize(relax.op.negative(last)))])
    body = relax.SeqExpr([*adjoint.body.blocks, block], relax.Tuple([result, relax.Tuple([*others, turned])]))
    module = tvm.IRModule(dict(module.functions_items()), attrs=module.attrs, global_infos=module.global_infos)
    module[name] = builder.normalize(_with_parts(adjoint, adjoint.params, body))
    return module


def turned_gradient() -> Any:
    """Differentiates a loss, and turns the sign of one gradient."""
    return _differentiated("turned_gradient", True)


def turned_gradient_clean() -> Any:
    """Differentiates a loss."""
    return _differentiated("turned_gradient", False)


# What each promises: what TVM's pass of the same convention does.
_LIKE = {
    "lifts_reversed": "LiftTransformParams",
    "bundles_reversed": "BundleModelParams",
    "fetches_reversed": "LazyGetInput",
    "sets_other_output": "LazySetOutput",
    "turned_gradient": "Gradient",
}
for _name, _like in _LIKE.items():
    for _factory in (globals()[_name], globals()[f"{_name}_clean"]):
        _factory.contract = replace(
            CONTRACTS[_like],
            name=_name,
            preconditions=(),
            postconditions=(),
            operators=None,
            functions=None,
            idempotence=Idempotence.UNKNOWN,
            locality=Locality.MODULE,
        )
