"""Planted bugs for the postcondition oracle: passes that do not do what they say, or harm what they do not speak of.

All of them give well-formed modules that compute the same, settle at once and keep public signatures: only a claim on
the result tells that something is missing.  Each promises idempotence and exact bits, so that the other oracles ask
all that they can.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tvm
from tvm import relax
from tvm.relax import dpl

from relaxkit.ir.walk import places
from relaxkit.passes.claims.clean import dead_binding_left, equal_calls_left
from relaxkit.passes.claims.common import functions_changed, operators_changed
from relaxkit.passes.claims.restructure import unreached_function_left
from relaxkit.passes.claims.rewrite import changed_without_match
from relaxkit.passes.contract import Contract, Idempotence, NumericPromise, Postcondition

_SOURCE = "the planted pass itself"


class _Built:
    """A run as a postcondition of TVM's own passes sees it: built without arguments."""

    def __init__(self, ran: Any) -> None:
        self.before, self.after = ran.before, ran.after
        self.arguments: dict[str, Any] = {}


def _unreached(ran: Any) -> str:
    return unreached_function_left(_Built(ran))


def _promise(*claims: tuple[str, Any]) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Gives a factory and its twin the contract that claims this."""
    postconditions = tuple(Postcondition(claim, violation, _SOURCE) for claim, violation in claims)

    def give(factory: Callable[[], Any]) -> Callable[[], Any]:
        name = factory.__name__.removesuffix("_clean")
        factory.contract = Contract(  # type: ignore[attr-defined]  # where a contract is looked for
            name,
            idempotence=Idempotence.FIXPOINT,
            fixpoint_runs=3,
            numeric=NumericPromise.BIT_EXACT,
            postconditions=postconditions,
        )
        return factory

    return give


def _module_pass(name: str, run: Any) -> Any:
    return tvm.transform.module_pass(lambda mod, _context: run(mod), opt_level=0, name=name)


def _functions(mod: Any) -> list[tuple[Any, Any]]:
    return [(var, function) for var, function in mod.functions_items() if isinstance(function, relax.Function)]


def _without_dead_code(mod: Any, spared: Any) -> Any:
    """TVM's own elimination of dead bindings on every function but those for which ``spared(function)`` holds."""
    result = mod.clone()
    for var, function in _functions(mod):
        if not spared(function):
            result.update_func(var, relax.analysis.remove_all_unused(function))
    return result


_no_dead_code = _promise(("no dead binding is left", dead_binding_left))


@_no_dead_code
def forgets_impure() -> Any:
    """Leaves dead code in functions that are declared impure."""
    return _module_pass("forgets_impure", lambda mod: _without_dead_code(mod, lambda function: not function.is_pure))


@_no_dead_code
def forgets_impure_clean() -> Any:
    """Leaves dead code nowhere."""
    return _module_pass("forgets_impure", lambda mod: _without_dead_code(mod, lambda function: False))


_no_dead_functions = _promise(
    ("no unreached function is left", _unreached),
    ("no function comes", partial(functions_changed, may_go=True)),
)


@_no_dead_functions
def forgets_kernels() -> Any:
    """Drops Relax functions that nothing calls, and leaves the kernels that only they called."""

    def run(mod: Any) -> Any:
        result = relax.transform.DeadCodeElimination()(mod)
        kept = {var.name_hint for var, _ in result.functions_items()}
        for var, function in mod.functions_items():
            if var.name_hint not in kept and not isinstance(function, relax.Function):
                result.update_func(var, function)
        return result

    return _module_pass("forgets_kernels", run)


@_no_dead_functions
def forgets_kernels_clean() -> Any:
    """Drops every private function that nothing public reaches."""
    return relax.transform.DeadCodeElimination()


_no_equal_calls = _promise(("no two equal calls are left", equal_calls_left))


@_no_equal_calls
def dataflow_only() -> Any:
    """Joins equal calls in functions without branches only."""

    def branches(function: Any) -> bool:
        found: list[Any] = []
        relax.analysis.post_order_visit(function, lambda e: found.append(e) if isinstance(e, relax.If) else None)
        return bool(found)

    def run(mod: Any) -> Any:
        joined = relax.transform.EliminateCommonSubexpr()(mod)
        result = mod.clone()
        for var, function in _functions(mod):
            if not branches(function):
                result.update_func(var, joined[var])
        return result

    return _module_pass("dataflow_only", run)


@_no_equal_calls
def dataflow_only_clean() -> Any:
    """Joins equal calls everywhere."""
    return relax.transform.EliminateCommonSubexpr()


_nothing = _promise()


def _rebuilt(mod: Any, change: Any) -> Any:
    """The module with each Relax function replaced by ``change(function)``."""
    result = mod.clone()
    for var, function in _functions(mod):
        result.update_func(var, change(function))
    return result


def _copied(function: Any, attributes: Any) -> Any:
    """A Relax function made anew, as a pass written in Python makes one."""
    made = relax.Function(function.params, function.body, function.ret_ty, function.is_pure)
    for key, value in attributes.items():
        made = made.with_attr(key, value)
    return made


@_nothing
def drops_attribute() -> Any:
    """Makes functions anew with the attributes that it knows of, and forgets the others."""

    def change(function: Any) -> Any:
        known = ("global_symbol", "relax.force_pure", "num_input", "Composite", "Codegen", "Primitive")
        return _copied(function, {key: value for key, value in (function.attrs or {}).items() if key in known})

    return _module_pass("drops_attribute", lambda mod: _rebuilt(mod, change))


@_nothing
def drops_attribute_clean() -> Any:
    """Makes functions anew with all of their attributes."""
    return _module_pass("drops_attribute", lambda mod: _rebuilt(mod, lambda f: _copied(f, dict(f.attrs or {}))))


@_nothing
def drops_module_attributes() -> Any:
    """Gives a module made of the functions and the tables, and forgets the module's attributes."""

    def run(mod: Any) -> Any:
        return tvm.IRModule(dict(mod.functions_items()), global_infos=mod.global_infos)

    return _module_pass("drops_module_attributes", run)


@_nothing
def drops_module_attributes_clean() -> Any:
    """Gives a module made of the functions, the tables and the attributes."""

    def run(mod: Any) -> Any:
        return tvm.IRModule(dict(mod.functions_items()), attrs=mod.attrs, global_infos=mod.global_infos)

    return _module_pass("drops_module_attributes", run)


_adds_nothing = _promise(("no operator comes or goes", operators_changed))


def _probed(function: Any) -> Any:
    """The function with a computation in front that nothing reads: a probe of its first parameter."""
    blocks = function.body.blocks
    if not function.params or not isinstance(function.params[0].ty, relax.TensorType):
        return function
    if function.params[0].ty.dtype != "float32" or (blocks and blocks[0].bindings[0].var.name == "probe"):
        return function
    value = relax.BlockBuilder().normalize(relax.op.negative(function.params[0]))
    probe = relax.BindingBlock([relax.VarBinding(relax.Var("probe", value.ty), value)])
    body = relax.SeqExpr([probe, *blocks], function.body.body)
    return relax.BlockBuilder().normalize(_copied_with(function, body))


def _copied_with(function: Any, body: Any) -> Any:
    return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)


@_adds_nothing
def leaves_probe() -> Any:
    """Leaves a probe in each function, which nothing reads."""
    return _module_pass("leaves_probe", lambda mod: _rebuilt(mod, _probed))


@_adds_nothing
def leaves_probe_clean() -> Any:
    """Takes the probe away again."""

    def change(function: Any) -> Any:
        probed = _probed(function)
        return function if probed.same_as(function) else _copied_with(function, function.body)

    return _module_pass("leaves_probe", lambda mod: _rebuilt(mod, change))


class _Rewriting(_Built):
    """A run of a rewriter of square roots."""

    def __init__(self, ran: Any) -> None:
        super().__init__(ran)
        self.arguments = {"0": dpl.is_op("relax.sqrt")(dpl.wildcard())}


def _unmatched(ran: Any) -> str:
    return changed_without_match(_Rewriting(ran))


_rewrites_roots = _promise(("a function without a match stays", _unmatched))


def _takes_root(function: Any) -> bool:
    return any(place.value.op == tvm.ir.Op.get("relax.sqrt") for place in places(function) if _is_call(place.value))


def _is_call(value: Any) -> bool:
    return isinstance(value, relax.Call)


@_rewrites_roots
def cleans_unmatched() -> Any:
    """Cleans up after a rewriter of square roots, also where there was none to rewrite."""
    return _module_pass("cleans_unmatched", lambda mod: _without_dead_code(mod, lambda function: False))


@_rewrites_roots
def cleans_unmatched_clean() -> Any:
    """Cleans up where there are square roots."""
    return _module_pass("cleans_unmatched", lambda mod: _without_dead_code(mod, lambda f: not _takes_root(f)))
