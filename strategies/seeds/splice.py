"""Splicing: a function of a seed becomes a private function of a drawn module, which calls it by type.

Its symbolic dims, private callees and kernels come with it, all under fresh names. Callers learn its
:class:`~strategies.scope.frame.CalleeSignature`, as of any drawn function, so that ``strategies.constructs.calls``
finds or makes arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm import relax, tirx

from relaxkit.ir.copying import Copier
from relaxkit.ir.dims import symbols_of
from relaxkit.ir.functions import attributes, mentioned_functions, relax_functions
from relaxkit.ir.walk import expressions, operator_of
from strategies.operators.intervals import Unproven
from strategies.scope.bounds import default_bounds
from strategies.scope.dims import SYMBOL_RANGE, most_elements
from strategies.scope.frame import CalleeSignature, ModuleFrame
from strategies.scope.scope import Scope
from strategies.scope.values import Value, dims_of
from strategies.seeds.bounds import bounds_of, parameter_value
from strategies.seeds.collection import SeedRef, load, open_seeds

MOST_ELEMENTS = 4096
"""Of any tensor that a spliced function takes or makes: a run stays cheap."""
MOST_BINDINGS = 40
MOST_PARAMETERS = 8
_FOREIGN = frozenset({"Codegen", "Composite", "relax.force_pure"})
_NOT_SPLICEABLE = frozenset(
    {
        "relax.call_tir_inplace", "relax.call_dps_packed", "relax.call_pure_packed", "relax.call_inplace_packed",
        "relax.hint_on_device", "relax.to_vdevice", "relax.builtin.stop_lift_params", "relax.call_tir_with_grad",
        "relax.call_py_func", "relax.make_closure", "relax.invoke_closure", "relax.invoke_pure_closure",
        "relax.grad.no_grad", "relax.grad.start_checkpoint", "relax.grad.end_checkpoint",
    }
)  # fmt: skip


class _NotSpliceable(Exception):
    pass


def spliceable(module: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names of the functions that a drawn module may take over, sorted: with true bounds, and others.

    Such a function takes and gives tensors of known shape (or tuples of them) small enough to run, is pure and stays
    in its module. The first are defined for every input of the default domain (``strategies.seeds.bounds``).
    """
    argued, others = [], []
    for name, function in relax_functions(module):
        try:
            _check(module, function)
        except _NotSpliceable:
            continue
        try:
            bounds_of(module, name)
            argued.append(name)
        except Unproven:
            others.append(name)
    return tuple(argued), tuple(others)


def draw(scope: Scope, ref: SeedRef) -> str:
    """Give a module under construction, sometimes, functions of seeds that its last function must call.

    Returns:
        Why the module is not to be run; empty when it may be.
    """
    scope.renew()
    frame = scope.module
    if frame.forbidden or not scope.index(2):  # what is forbidden may be in any seed
        return ""
    seeds = open_seeds(ref)
    count, unargued = 1 + scope.index(2), scope.index(8) == 7
    options = seeds.unargued if unargued else seeds.argued
    if not options:
        return ""
    for _ in range(count):
        seed, name = scope.pick(options)
        frame.callables.append(splice(frame, load(seed), name))
        frame.seeds_used.append(seed.fingerprint)
    return "a spliced function of unknown domain" if unargued else ""


def splice(frame: ModuleFrame, module: Any, name: str) -> CalleeSignature:
    """Add a private copy of a function that :func:`spliceable` names, and of what it calls, to a module."""
    copies: dict[Any, Any] = {}
    for var in _callees_first(module, name):
        function = module[var]
        name_of_copy = frame.fresh_name(f"seed_{var.name_hint}")  # no drawn function has such a prefix
        if isinstance(function, tirx.PrimFunc):
            copies[var] = frame.builder.add_func(function.without_attr("global_symbol"), name_of_copy)
            continue
        copier = Copier(frame.builder, copies)
        attrs = {key: value for key, value in attributes(function).items() if key == "Primitive"}
        made = copier.function(function, attrs)
        copies[var] = frame.builder.add_func(made, name_of_copy)
    try:
        known = bounds_of(module, name)
    except Unproven:  # only in a module that is not run: what its dtype may hold
        known = unbounded(made.ret_ty)
    parameters = tuple(
        Value(
            param,
            param.ty,
            default_bounds(str(param.ty.dtype)) if _is_tensor(param.ty) else None,
            (parameter_value(param.ty).parts),
        )
        for param in made.params
    )
    symbols = dict.fromkeys(copier.symbols.values(), SYMBOL_RANGE)
    depth = 1 + _depth(module, name)
    return CalleeSignature(copies[module.get_global_var(name)], parameters, known, symbols, {}, depth, private=True)


def unbounded(ty: Any) -> Value:
    """Return a value of a type of which nothing is known."""
    if isinstance(ty, relax.TupleType):
        return Value(None, ty, parts=tuple(unbounded(field) for field in ty.fields))
    return Value(None, ty)


def _is_tensor(ty: Any) -> bool:
    return isinstance(ty, relax.TensorType)


def _callees_first(module: Any, name: str) -> Iterator[Any]:
    """List global variables of what a function needs, itself last; there is no recursion among them."""
    done: set[Any] = set()

    def visit(var: Any) -> Iterator[Any]:
        if var in done:
            return
        done.add(var)
        function = module[var]
        if isinstance(function, relax.Function):
            for callee in sorted(mentioned_functions(function), key=lambda each: each.name_hint):
                yield from visit(callee)
        yield var

    yield from visit(module.get_global_var(name))


def _depth(module: Any, name: str) -> int:
    callees = [var for var in mentioned_functions(module[name]) if isinstance(module[var], relax.Function)]
    return max((1 + _depth(module, var.name_hint) for var in callees), default=0)


def _check(module: Any, function: Any, above: tuple[Any, ...] = ()) -> None:
    """Raise ``_NotSpliceable`` when a function, or one that it calls, cannot be taken over."""
    if function in above or len(above) > 2 or len(function.params) > MOST_PARAMETERS:
        raise _NotSpliceable
    if not function.is_pure or _FOREIGN & set(attributes(function)):
        raise _NotSpliceable
    bindings = 0
    for param in function.params:
        _check_type(param.ty, parameter=True)
    _check_type(function.ret_ty)
    for expr in expressions(function.body):
        if isinstance(expr, relax.SeqExpr):
            bindings += sum(len(block.bindings) for block in expr.blocks)
        if isinstance(expr, (relax.Function, relax.ExternFunc)):
            raise _NotSpliceable
        if operator_of(expr) in _NOT_SPLICEABLE:
            raise _NotSpliceable
        if isinstance(expr, (relax.Var, relax.Call)) and _is_tensor(expr.ty):
            _check_type(expr.ty)
    if bindings > MOST_BINDINGS:
        raise _NotSpliceable
    for var in mentioned_functions(function):
        if var not in module.functions:
            raise _NotSpliceable
        callee = module[var]
        if isinstance(callee, relax.Function):
            _check(module, callee, (*above, function))
        elif not isinstance(callee, tirx.PrimFunc):
            raise _NotSpliceable


def _check_type(ty: Any, *, parameter: bool = False) -> None:
    if isinstance(ty, relax.TupleType) and len(ty.fields):
        for field in ty.fields:
            _check_type(field, parameter=parameter)
        return
    if not _is_tensor(ty) or not isinstance(ty.shape, relax.ShapeExpr) or ty.dtype is None or ty.vdevice is not None:
        raise _NotSpliceable
    dims = dims_of(ty.shape)
    if parameter and not all(isinstance(dim, (int, tirx.Var)) for dim in dims):
        raise _NotSpliceable  # a computed dim would have to be solved for
    ranges = {var: SYMBOL_RANGE for dim in dims for var in symbols_of(dim)}
    if most_elements(dims, ranges) > MOST_ELEMENTS or 0 in dims:
        raise _NotSpliceable
