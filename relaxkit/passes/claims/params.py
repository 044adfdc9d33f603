"""Postconditions of the passes that bind, lift, bundle or retype parameters (``relaxkit.passes.contracts.params``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import functions_by_name, has_attribute, is_public, relax_functions, symbol_of
from relaxkit.ir.types import parts_of_type, types_in
from relaxkit.ir.walk import expressions, is_constant, name_of, operator_of, places
from relaxkit.passes.claims.common import argument, both, relax_pairs, untouched, variables_read
from relaxkit.passes.contract import EvidenceClass, Harm, claimed, nothing_left


@claimed("bound parameters are gone", "its documentation: bind params of function of the module to constant tensors")
def bound_parameter_left(ran: Any) -> str:
    """Check that the parameters of the named function are the ones that were not bound, in their order."""
    bound = {_key(key) for key in argument(ran, 1, "params", {})}
    for name, old, new in relax_pairs(ran):
        if (symbol_of(old) or name) != str(argument(ran, 0, "func_name")):
            continue
        wanted = [name_of(param) for param in old.params if name_of(param) not in bound]
        found = [name_of(param) for param in new.params]
        if wanted != found:
            what = "a bound parameter is left" if set(found) & bound else "other parameters are left"
            return f"{what}\nleaves {name} the parameters ({', '.join(found)}), not ({', '.join(wanted)})"
    return ""


@claimed(
    "num_input counts parameters that are there",
    "the passes that read it assert this (BundleModelParams), or raise an error or crash (LiftTransformParams)",
    shown='assert After["{name}"].attrs["num_input"] <= len(After["{name}"].params)',
)
def inputs_not_there(ran: Any) -> str:
    """Say whether ``num_input`` counts more leading parameters than there are left, where it did not before."""
    for name, old, new in relax_pairs(ran):
        if has_attribute(new, "num_input") and has_attribute(old, "num_input"):
            count = int(new.attrs["num_input"])
            if (left := len(new.params)) < count <= len(old.params):
                return (
                    "num_input counts parameters that were bound\n"
                    f"leaves num_input of {name} at {count}, though it has {left} parameter{'s' * (left != 1)} left"
                )
    return ""


@claimed(
    "other functions stay",
    "src/relax/transform/bind_params.cc: the function is found by its symbol, a private one by its name",
    evidence=EvidenceClass.OURS,
)
def other_functions_changed(ran: Any) -> str:
    """Say whether BindParams changes a function other than the one it names."""
    named = str(argument(ran, 0, "func_name"))
    for name, old, new in both(ran):
        if isinstance(old, relax.Function) and (symbol_of(old) or name) == named:  # how BindParams finds one
            continue
        if not untouched(old, new):
            return f"a function that was not named is another one\nchanges {name}, which was not named"
    return ""


def _key(key: Any) -> str:
    """Return the name that a key of a binding means: a string, or a variable."""
    return key if isinstance(key, str) else name_of(key)


@claimed("bound dims are gone", "its documentation: bind symbolic variables of the module")
def bound_symbol_left(ran: Any) -> str:
    """Find a dim that was bound and is still a symbolic variable of a function that it was bound in."""
    bound = {_key(key) for key in argument(ran, 0, "binding_map", {})}
    named = argument(ran, 1, "func_name")
    given = {name_of(var) for value in argument(ran, 0, "binding_map", {}).values() for var in _symbols_of(value)}
    for name, function in relax_functions(ran.after):
        if named is not None and name != str(named):
            continue
        left = {name_of(var) for var in relax.analysis.defined_symbolic_vars(function)} & bound
        if left - given:
            return f"a bound dim is still symbolic\nleaves {', '.join(sorted(left - given))} of {name} symbolic"
    return ""


def _as_method(method: str, place: int) -> dict[str, Any]:
    """Return what is the same of the claims that a method of functions gives what a pass gives."""
    bound = f'bound = Before["{{name}}"].{method}({{{place}}})'
    compared = 'tvm.ir.assert_structural_equal(bound, After["{name}"], map_free_vars=True)'
    return {"harm": Harm.WRONG, "shown": f"{bound}\nprint(bound.script())\n{compared}"}


@claimed(
    "Function.bind_symbolic_vars gives what BindSymbolicVars gives",
    'documentation of Function.bind_symbolic_vars: "Return a new function with updated symbolic variable"',
    **_as_method("bind_symbolic_vars", 0),
)
def bound_otherwise(ran: Any) -> str:
    """Find a function whose dims its own method binds in another way than the pass, by name or by variable."""
    binding, named = argument(ran, 0, "binding_map", {}), argument(ran, 1, "func_name")
    for name, old, new in relax_pairs(ran):
        if named is not None and name != str(named):
            continue
        dims = {*relax.analysis.defined_symbolic_vars(old), *relax.analysis.free_symbolic_vars(old)}
        values = {dim: value for dim in dims for key, value in binding.items() if _key(key) == name_of(dim)}
        if not old.same_as(new) and len({*map(name_of, dims)}) == len(dims):
            for keyed in (values, {name_of(dim): value for dim, value in values.items()}):
                if _given(partial(old.bind_symbolic_vars, keyed), new) is not new:
                    return f"the method gives another one\nand Function.bind_symbolic_vars disagree on {name}"
    return ""


@claimed(
    "Function.bind_params gives what BindParams gives",
    'documentation of Function.bind_params: "Keys may be either a `relax.Var` or a string name of the Relax variable"; '
    "that of relax.const gives another dtype to numbers of Python alone",
    **_as_method("bind_params", 1),
)
def parameters_bound_otherwise(ran: Any) -> str:
    """Find a function whose parameters its own method binds in another way than the pass, by variable."""
    binding = argument(ran, 1, "params", {})
    for name, old, new in relax_pairs(ran):
        keyed = {p: value for p in old.params for key, value in binding.items() if _key(key) == name_of(p)}
        if old.same_as(new) or (symbol_of(old) or name) != str(argument(ran, 0, "func_name")):
            continue
        if (given := _given(partial(old.bind_params, keyed), new)) is not new:
            pairs = zip(_dtypes(new), _dtypes(given), strict=False)
            made = [pair for pair in pairs if pair[0] != pair[1] and pair[0] in {str(v.dtype) for v in keyed.values()}]
            said = f"and Function.bind_params disagree on {name}"
            for was, other in made[:1]:
                said = f"relax.Function.bind_params and BindParams disagree: the method makes {was} arrays {other}"
            return f"the method gives another one\n{said}"
    return ""


def _given(method: Callable[[], Any], function: Any) -> Any:
    """Return what a method gives: the function itself where they are equal, ``None`` where it raises."""
    try:
        found = method()
        return function if tvm_ffi.structural_equal(found, function, map_free_vars=True) else found
    except Exception:
        return None


def _dtypes(function: Any) -> list[str]:
    """List the dtypes of a function's constants; none of no function."""
    found = [] if function is None else expressions(function.body)
    return [str(each.value.dtype) for each in found if is_constant(each)]


def _symbols_of(value: Any) -> list[Any]:
    if isinstance(value, int):
        return []
    return list(relax.analysis.tir_vars_in_type(relax.ShapeType([value])))


def _num_input(function: Any) -> int:
    return int(function.attrs["num_input"]) if has_attribute(function, "num_input") else -1


@claimed("weights are one tuple", "its documentation: bundle several model parameters into a single tuple parameter")
def not_bundled(ran: Any) -> str:
    """Check that the parameters after ``num_input`` are one tuple of them all, of the name asked for, in their order.

    Functions without the attribute keep their parameters.
    """
    wanted = str(argument(ran, 0, "param_tuple_name") or "model_params")
    for name, old, new in relax_pairs(ran):
        count = _num_input(old)
        if count < 0:
            if not untouched(old, new):
                return f"a function without num_input is another one\nchanges {name}, which has no num_input"
            continue
        found = [name_of(param) for param in new.params]
        if found != [name_of(param) for param in old.params[:count]] + [wanted]:
            return f"other parameters than the inputs and the bundle\ngives {name} the parameters ({', '.join(found)})"
        ty = new.params[count].ty
        kinds = [type(param.ty).__name__ for param in old.params[count:]]
        if not isinstance(ty, relax.TupleType) or [type(field).__name__ for field in ty.fields] != kinds:
            return f"the bundle is not a tuple of the weights\nmakes the bundle of {name} {ty}\nexpected: {kinds}"
    return ""


@claimed("each function has its transform", "its documentation; src/relax/transform/lift_transform_params.cc")
def not_lifted(ran: Any) -> str:
    """Check that each function with ``num_input`` has its transform, whose results are its further parameters."""
    before = [
        (name, function)
        for name, function in relax_functions(ran.before)
        if _num_input(function) >= 0 and not name.endswith("transform_params")
    ]
    shared = argument(ran, 0, "shared_transform", False)
    if isinstance(shared, list | tuple):
        before = [(name, function) for name, function in before if name in shared] if shared else before
    after = functions_by_name(ran.after)
    for name, old in before:
        transform = "transform_params" if shared else f"{name}_transform_params"
        made, new = after.get(transform), after.get(name)
        if not isinstance(made, relax.Function) or not isinstance(new, relax.Function) or not is_public(made):
            return f"a function has no public transform of its weights\nadds no {transform} for {name}"
        count = _num_input(old)
        inputs = [[name_of(param) for param in function.params[:count]] for function in (old, new)]
        if inputs[0] != inputs[1]:
            return f"inputs are others\nmakes the inputs of {name} ({', '.join(inputs[1])})"
        if not isinstance(made.ret_ty, relax.TupleType):
            return f"the transform gives no tuple\nmakes {transform} return no tuple"
        if len(made.ret_ty.fields) != len(new.params) - count:
            return (
                f"the transform gives another number of values than its function takes\n"
                f"lets {transform} give {len(made.ret_ty.fields)} values, where {name} takes {len(new.params) - count}"
            )
    return ""


@nothing_left(
    "no computation on weights alone is left",
    "src/relax/transform/lift_transform_params.cc: conditions 1 to 5 of CanLiftBinding",
)
def liftable_left(ran: Any) -> str:
    """Find a computation on weights alone that is left in its function, where nothing forbids to lift it.

    Judged where it is certain: each function has its own transform; the binding was in a dataflow block of the
    function's own body before, calls an operator, and reads nothing but weights of static shape.
    """
    if argument(ran, 0, "shared_transform", False):
        return ""
    for name, old, new in relax_pairs(ran):
        count = _num_input(old)
        if count < 0 or name.endswith("transform_params") or _cut(old):
            continue
        weights = set(new.params[count:])
        for place in places(new):
            value = place.value
            if not place.dataflow or len(place.scope) > 1 or not operator_of(value):
                continue
            read = list(variables_read(value))
            parts = [part for var in (place.var, *read) for part in parts_of_type(var.ty)]
            if read and set(read) <= weights and not any(map(relax.analysis.tir_vars_in_type, parts)):
                return f"a call on weights alone is left\nleaves {operator_of(value)} of weights alone in {name}"
    return ""


def _cut(function: Any) -> bool:
    """Say whether something in a function stops lifting: an operator, or what is not in a dataflow block."""
    return any(
        operator_of(place.value) == "relax.builtin.stop_lift_params"
        or not place.dataflow
        or isinstance(place.binding, relax.MatchCast)
        for place in places(function)
    )


@claimed("inputs come from a callback", "its documentation: a function fget_item that lazily loads the weights")
def input_not_lazy(ran: Any) -> str:
    """Check that a public function takes inputs and a callback, which ``num_input`` counts; private ones stay."""
    for name, old, new in relax_pairs(ran):
        if not is_public(old):
            if not untouched(old, new):
                return f"a private function is another one\nchanges {name}, which is private"
            continue
        count = max(_num_input(old), 0)
        found = [name_of(param) for param in new.params]
        if found != [*(name_of(param) for param in old.params[:count]), "fget_param"]:
            return (
                f"other parameters than the inputs and the callback\ngives {name} the parameters ({', '.join(found)})"
            )
        if not isinstance(new.params[count].ty, relax.FuncType):
            return f"the callback is no function\nmakes the callback of {name} no function"
        if _num_input(new) != count + 1:
            return f"num_input does not count the callback\nleaves num_input of {name} at {_num_input(new)}"
    return ""


@claimed("outputs go to a callback", "its documentation: a function fset_output receives the outputs")
def output_not_lazy(ran: Any) -> str:
    """Check that a public function takes a callback behind its inputs, gives nothing and is impure; others stay."""
    for name, old, new in relax_pairs(ran):
        if not is_public(old):
            if not untouched(old, new):
                return f"a private function is another one\nchanges {name}, which is private"
            continue
        place = _num_input(old) if _num_input(old) >= 0 else len(old.params)
        names = [name_of(param) for param in old.params]
        found = [name_of(param) for param in new.params]
        if found != [*names[:place], "fset_output", *names[place:]]:
            return f"other parameters than before with the callback\ngives {name} the parameters ({', '.join(found)})"
        if not isinstance(new.ret_ty, relax.TupleType) or len(new.ret_ty.fields):
            return f"it still gives something\nleaves {name} returning {new.ret_ty}"
        if new.is_pure:
            return f"it is declared pure\nleaves {name} pure, though it calls fset_output"
        if _num_input(old) >= 0 and _num_input(new) != _num_input(old) + 1:
            return f"num_input does not count the callback\nleaves num_input of {name} at {_num_input(new)}"
    return ""


@claimed("weights are no parameters", "its documentation: convert transform_params functions into a lazy version")
def transform_not_lazy(ran: Any) -> str:
    """Check that a transform takes its inputs, what callbacks need, and what defines dims; others stay."""
    extra = len(argument(ran, 2, "extra_get_item_params", None) or ())
    extra += len(argument(ran, 3, "extra_set_item_params", None) or ())
    for name, old, new in both(ran):
        if not name.endswith("transform_params") or not isinstance(old, relax.Function):
            if not untouched(old, new):
                return f"a function that is no transform is another one\nchanges {name}, which is no transform"
            continue
        wanted = max(_num_input(old), 0) + extra
        further = new.params[wanted:]
        if len(new.params) < wanted or any(name_of(param) != "symbolic_var_holder" for param in further):
            return (
                f"a weight is still a parameter\nleaves {name} the parameters ({', '.join(map(name_of, new.params))})"
            )
    return ""


@claimed(
    "parameters have the types asked for",
    "its documentation: ty_func gives the type with which each parameter should be updated",
)
def parameter_type_not_updated(ran: Any) -> str:
    """Check that a parameter has the type that the callback asks for, or its own where that asks for none."""
    update = argument(ran, 0, "ty_func")
    for name, old, new in relax_pairs(ran):
        for was, now in zip(old.params, new.params):  # noqa: B905  # as many, says another claim
            asked = update(was)
            if not tvm_ffi.structural_equal(now.ty, was.ty if asked is None else asked, map_free_vars=True):
                what = "a parameter has another type though none was asked for"
                if asked is not None:
                    what = "a parameter does not have the type asked for"
                return f"{what}\nmakes {now} of {name} {now.ty} instead of {was.ty if asked is None else asked}"
    return ""


@claimed(
    "no type mentions the old device",
    "its documentation: update the virtual device",
    shown='assert ":-1:" not in After.script()  # TVM prints a device that the module does not list as :-1:',
)
def old_device_left(ran: Any) -> str:
    """Find a type that mentions the device that was replaced."""
    index, new = int(argument(ran, 1, "index")), argument(ran, 0, "new_vdevice")
    devices = list(ran.before.global_infos["vdevice"])
    old = devices[index]
    if sum(tvm_ffi.structural_equal(old, item) for item in [*devices, new]) > 1:
        return ""  # the table has it twice, or it is the new one
    for name, function in relax_functions(ran.after):
        used = {*expressions(function.body)}
        params = {
            f"the type of the {'' if each in used else 'unused '}parameter {name_of(each)}": each.ty
            for each in function.params
        }
        owners = ((where, parts_of_type(ty)) for where, ty in ({"the result type": function.ret_ty} | params).items())
        for where, types in (*owners, ("a type", types_in(function))):
            devices = [ty.vdevice for ty in types if getattr(ty, "vdevice", None) is not None]
            if any(tvm_ffi.structural_equal(device, old) for device in devices):
                return f"a type mentions the old device\nleaves the old device in {where} of {name}"
    return ""


@claimed("the table names the new device", "src/relax/transform/update_vdevice.cc: Run")
def device_table_not_updated(ran: Any) -> str:
    """Check that the table of devices is what it was, with the new device in the place of the old one.

    Whether an equal entry elsewhere is replaced as well depends on whether it is the same object.
    """
    index, new = int(argument(ran, 1, "index")), argument(ran, 0, "new_vdevice")
    devices = list(ran.before.global_infos["vdevice"])
    wanted = [new if place == index else item for place, item in enumerate(devices)]
    found = list(ran.after.global_infos.get("vdevice", ()))
    equal = tvm_ffi.structural_equal
    if len(found) != len(wanted) or not all(
        equal(want, now) or (equal(want, devices[index]) and equal(new, now))
        for want, now in zip(wanted, found, strict=True)
    ):
        return f"the table of devices is another one\nmakes the devices {found} instead of {wanted}"
    for key, entries in ran.before.global_infos.items():
        if key != "vdevice" and not tvm_ffi.structural_equal(entries, ran.after.global_infos.get(key)):
            return f"the table {key} is another one\nchanges the table {key}"
    return ""
