"""What triage asks of a case in a worker: what it is made of, what is rare in it, and whether it fails when edited.

A construct that minimization has not got rid of may still be there by chance.  Where it has an ordinary counterpart the
case is judged once more with that: what fails all the same does not need it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.utils import copy_with_new_vars
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.case import Case, load_module, subject_of
from fuzzer.findings.assessment import Rarity
from fuzzer.findings.family import Edit, Skeleton
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import judge_request
from fuzzer.minimizer.reductions.values import by_ones, constants_in
from fuzzer.minimizer.safety import hazards, is_safe
from fuzzer.triage.weigh import of_the_inputs
from fuzzer.worker.child import breadcrumb
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Verdict
from oracles.judge import judge
from oracles.measure.comparison import is_floating
from oracles.metamorphic.locality import reach_of
from oracles.metamorphic.locality_variation import draw
from oracles.numeric.oracle import is_documented
from relaxkit.interpreter.operands import limits
from relaxkit.ir.domain import ORDINARY
from relaxkit.ir.edits import functions_of, graph_of, is_impure, with_functions
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.retype import Invalid, dtype_of
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import Func, Sketch, take
from relaxkit.ir.sketch.slots import Slot, slots_of, splice, types_of
from relaxkit.ir.sketch.symbols import groups
from relaxkit.ir.types import dims_in, parts_of_type
from relaxkit.ir.walk import operator_of, operators_of
from relaxkit.passes.arguments import names_in
from relaxkit.passes.contract import Abi, OracleName, Trait
from relaxkit.passes.contracts import any_has, contract_for, the_pass
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.shipped import in_shipped_order
from strategies.detect.features import features_of
from strategies.detect.profile import profile_of
from strategies.scope.features import Feature

_Edit = Callable[[Any, Case], "Any | None"]
_FLOAT8 = "float8"
_FORCED = "relax.force_pure"
_HINT = "relax.hint_on_device"
_PACKED = "closure"
_MAKES = "relax.make_closure"
_CLOSURES = frozenset({_MAKES, "relax.invoke_closure", "relax.invoke_pure_closure"})
_DRAWN = 3  # inputs that are asked: numbers of a few elements may happen to be equal
_OF_VALUES = "wrong-value"
_DIFFERENT = frozenset({_OF_VALUES, "wrong-shape", "wrong-dtype"})


def gone(given: Case, edit: Edit, oracles: tuple[OracleName, ...]) -> bool:
    """Say, in a worker, whether every oracle passes the edited case; no where the edit does not apply."""
    case = edited(given, EDITS[edit])
    verdicts = [] if case is None else judge_request(case, oracles)
    return bool(verdicts) and all(item.outcome is Outcome.PASS for item in verdicts)


def edited(case: Case, edit: _Edit | None) -> Case | None:
    """Edit the module of a case; ``None`` where there is nothing to edit, or types do not hold any more."""
    breadcrumb("traits")
    if edit is None:
        return None
    try:
        other = edit(load_module(case), case)
    except (Invalid, RuntimeError, TypeError, ValueError):
        return None
    sound = other is not None and relax.analysis.check_well_formed(other)
    return replace(case, module_json=str(tvm.ir.save_json(other))) if sound else None


def skeleton(module_json: str) -> Skeleton:
    """Return, in a worker, what a module is made of."""
    profile = profile_of(tvm.ir.load_json(module_json), operands=False)
    operators = {name.removeprefix("relax.") for name in profile.operators}
    return Skeleton(tuple(sorted(operators)), tuple(sorted(set(profile.parts) - {"function"})))


def first_run(case: Case, verdict: Verdict) -> tuple[Case, Verdict] | None:
    """Return, in a worker, the case whose first run fails as a second one does, and its verdict; if there is one."""

    def transformed(module: Any, case: Case) -> Any:
        return Subject(module, case.passes, input_seed=case.input_seed).output_module

    again = edited(case, transformed)
    if again is None:
        return None
    verdicts = judge_request(again, (OracleName.CRASH, OracleName.WELL_FORMED))
    fails = (each for each in verdicts if each.evidence is not None)
    return next(((again, each) for each in fails if signature(each).message == signature(verdict).message), None)


def rare(case: Case, culprit: str = "") -> frozenset[Rarity]:
    """Return, in a worker, the rare things that a case has: its module, or what the passes before ``culprit`` make."""
    breadcrumb("traits")
    found = _rare_in(load_module(case), case, culprit)
    names = [ref.name for ref in case.passes]
    before = case.passes[: names.index(culprit)] if culprit in names else ()
    given = Subject(load_module(case), before, input_seed=case.input_seed).output.module if before else None
    return found if given is None else found | _rare_in(given, case, culprit)


def _rare_in(module: Any, case: Case, culprit: str) -> frozenset[Rarity]:
    features, sketch, called = features_of(module), take(module), operators_of(module)
    parts = [part for ty in types_of(sketch) for part in parts_of_type(ty)]
    dtypes = [str(getattr(part, "dtype", "")) for part in parts]
    signs = {
        Rarity.VALUES: any(_special(constant) for _, constant in constants_in(sketch)),
        Rarity.EMPTY: Feature.EMPTY_TENSORS in features,
        Rarity.FLOAT8: any(dtype.startswith(_FLOAT8) for dtype in dtypes),
        Rarity.HINTS: _HINT in called and not any_has(map(contract_for, case.passes), Trait.PLACES),
        Rarity.CLOSURES: not _CLOSURES.isdisjoint(called) or _takes_functions(sketch),
        Rarity.LOCAL_FUNCTIONS: Feature.LOCAL_FUNCTIONS in features,
        Rarity.RECURSION: Feature.RECURSION in features,
        Rarity.FORCED_PURITY: any(_FORCED in func.attrs for func in sketch.relax_functions().values())
        and not in_shipped_order([the_pass(Trait.FORCES_PURITY), culprit]),
        Rarity.PUBLIC_CALLS: bool(_called_public(sketch))
        and any(contract_for(ref).abi not in (Abi.SAME, Abi.ADDS_FUNCTIONS, Abi.GRADIENT) for ref in case.passes),
        Rarity.ORDER: len(case.passes) > 1 and not in_shipped_order([ref.name for ref in case.passes]),
    }
    return frozenset(rarity for rarity, shown in signs.items() if shown)


def takes_a_name(case: Case) -> bool:
    """Say, in a worker, whether locality gives a function a name that the pass gives to one of its own."""
    subject = subject_of(case)
    variation, plain = draw(subject, reach_of(subject)), subject.output.module
    if variation is None or plain is None:
        return False
    return not (functions_of(variation.module).keys() - functions_of(subject.module)).isdisjoint(functions_of(plain))


def _takes_functions(sketch: Sketch) -> bool:
    params = [param for func in sketch.relax_functions().values() for param in func.params]
    return any(isinstance(part, relax.FuncType) for param in params for part in parts_of_type(param.ty))


def _called_public(sketch: Sketch) -> list[str]:
    called = uses.callers(sketch)
    return [name for name, func in sketch.relax_functions().items() if called[name] and "global_symbol" in func.attrs]


def ordinary(given: Case, verdict: Verdict, oracles: tuple[OracleName, ...], rarity: Rarity | None) -> bool:
    """Say, in a worker, whether a case fails in the same way without something rare.

    No where it cannot be taken away, or nothing is judged then.  Without a rarity: on ordinary inputs, other ones too,
    and with two elements along dims that have one, which hides what is done along them.
    """
    if rarity is Rarity.ORDER:
        alone = PassRef(verdict.culprit, f"relax.transform.{verdict.culprit}()")
        kept = next((ref for ref in given.passes if ref.name == verdict.culprit), alone)
        without: list[Case | None] = [replace(given, passes=(kept,))]
    else:
        without = [edited(given, edit) for edit in (EDITS.get(rarity), *_OTHER_EDITS.get(rarity, ()))]
    left = rare(given, verdict.culprit) - {rarity}
    cases = [case for case in without if case is not None and rare(case, verdict.culprit) <= left]
    if rarity is None:
        cases += [replace(each, input_seed=seed) for each in (*cases, given) for seed in ORDINARY]
    return any(
        each.evidence.kind == verdict.shown.kind
        and (rarity is None or rarity.special or signature(each).message == signature(verdict).message)
        and not (rarity is None and of_the_inputs(each))
        for asked in cases
        for each in judge_request(asked, oracles)
        if each.outcome is Outcome.FAIL and each.evidence is not None
    )


def broken_where_used(given: Case, verdict: Verdict) -> str:
    """Return, in a worker, how a module comes out that also uses what the given one only has; empty where sound."""
    for edit, oracle, how in _USES if verdict.oracle is OracleName.ROUNDTRIP else _USES[1:]:
        verdicts = [] if (case := edited(given, edit)) is None else judge_request(case, (oracle,))
        if any(each.outcome is Outcome.FAIL and each.culprit == verdict.culprit for each in verdicts):
            return how
    return ""


def wrong(given: Case, first: Case, culprit: str) -> tuple[Case, Verdict] | None:
    """Return, in a worker, the case in which a program of which something is wrong by its form gives other results.

    As it is, as far as it builds all the same; with two elements along dims that have one, and along all dims; with
    numbers for symbols: where other values are given rather than tensors of another type, and on ordinary inputs, if
    there is such a case.  Nothing kept the values inside the operators' domains while the case was made smaller: that
    they are is proved, was seen to when ``first`` was drawn, or is seen when the program is interpreted.
    """
    allowed = hazards(load_module(first))
    contracts = [replace(contract_for(ref), tolerated_ill_formedness=("",)) for ref in given.passes]
    given = edited(given, _on_sketch(_published)) or given  # programs are called by their public functions

    def judged(case: Case) -> Iterator[tuple[Case, Verdict]]:
        subject = Subject(load_module(case), case.passes, contracts, case.input_seed)
        (found,) = judge(subject, [OracleName.NUMERIC])
        kind = "" if found.evidence is None else found.evidence.kind
        differs = kind in _DIFFERENT and found.culprit == culprit and not of_the_inputs(found)
        if differs and (is_safe(subject.module, allowed) or is_documented(subject)):
            yield case, found

    edits = given, edited(given, EDITS[None]), edited(given, _on_sketch(_square)), edited(given, EDITS[Edit.NUMBERS])
    drawn = ((case, given.input_seed + number) for case in edits if case is not None for number in range(_DRAWN))
    found = [each for case, seed in drawn for each in judged(replace(case, input_seed=seed))]
    for case, verdict in sorted(found, key=lambda each: each[1].shown.kind != _OF_VALUES)[:1]:
        plain = (each for seed in ORDINARY for each in judged(replace(case, input_seed=seed)))
        return next((each for each in plain if each[1].shown.kind == verdict.shown.kind), (case, verdict))
    return None


def _special(constant: Any) -> bool:
    """Say whether a constant holds NaN, an infinity or a denormal."""
    values = constant.value.numpy()
    if not is_floating(values.dtype):
        return False
    wide = values.astype("float64")
    return bool(np.any(~np.isfinite(wide) | ((wide != 0) & (np.abs(wide) < float(limits(values.dtype).tiny)))))


def _with_other_names(module: Any, case: Case) -> Any | None:
    """Nothing where a lone function has no name to share, or where an argument of a pass names a function."""
    functions = list(functions_of(module))
    if len(functions) < 2 or any(names_in(ref.expression) & set(functions) for ref in case.passes):
        return None
    names = {name: f"z{index}_{name}" for index, name in enumerate(functions)}
    graph = graph_of(module)
    for node in graph["nodes"]:  # the names of public functions are attributes, too
        if node["type"] == "ffi.String" and node["data"] in names:
            node["data"] = names[node["data"]]
    copy = from_json_graph_str(json.dumps(graph))
    return with_functions(copy, list(copy.functions.items()))


def _with_callers(module: Any, _: Case) -> Any:
    """Add a private copy of each Relax function, and a function that calls it."""
    builder = relax.BlockBuilder(module)
    for name, function in relax_functions(module):
        called, caller = (copy_with_new_vars(function) for _ in range(2))
        private = builder.add_func(called.without_attr("global_symbol"), "called")
        with builder.function(f"{name}_caller", [*caller.params], pure=function.is_pure):
            builder.emit_func_output(builder.emit(relax.Call(private, [*caller.params])))
    return builder.get()


def _with_code_of_a_device(module: Any, _: Case) -> Any | None:
    """Add a function that computes on the first device that the module lists."""
    if not (listed := module.global_infos.get("vdevice")):
        return None
    builder, x = relax.BlockBuilder(module), relax.Var("x", relax.TensorType((2,), "float32", listed[0]))
    with builder.function("on_device", [x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    return builder.get()


_USES = (
    (_with_callers, OracleName.WELL_FORMED, "a module in which functions are called is ill-formed, too"),
    (_with_code_of_a_device, OracleName.NUMERIC, "a module that computes on a device that it lists does not build"),
)


def _with_numbers(module: Any, case: Case) -> Any | None:
    """Give dims that calls make equal one number, that of the callers where they have one."""
    sketch = take(module)
    for group in groups(sketch):
        for symbol in group.symbols:
            sketch.retype.symbols[symbol] = tvm.tirx.IntImm(dtype_of(symbol), group.sizes[0])
    return emit(sketch) if sketch.retype.symbols else None


def _on_sketch(change: Callable[[Sketch], None]) -> _Edit:
    def changed(module: Any, _: Case) -> Any:
        sketch = take(module)
        change(sketch)
        return emit(sketch)

    return changed


def _plain_values(sketch: Sketch) -> None:
    for _, constant in constants_in(sketch):
        if _special(constant):
            by_ones(sketch, constant)


def _two_for(size: int, sketch: Sketch) -> None:
    sketch.retype.dims[size] = 2


def _square(sketch: Sketch) -> None:
    for size in {int(dim) for ty in types_of(sketch) for dim in dims_in(ty) if isinstance(dim, tvm.tirx.IntImm)}:
        if size:
            _two_for(size, sketch)


def _float16(sketch: Sketch) -> None:
    dtypes = {str(getattr(part, "dtype", "")) for ty in types_of(sketch) for part in parts_of_type(ty)}
    sketch.retype.dtypes.update(dict.fromkeys((each for each in dtypes if each.startswith(_FLOAT8)), "float16"))


def _unforced(sketch: Sketch) -> None:
    for func in sketch.relax_functions().values():
        func.attrs.pop(_FORCED, None)


def _published(sketch: Sketch) -> None:
    functions = sketch.relax_functions()
    if not any("global_symbol" in func.attrs for func in functions.values()):
        for name, func in functions.items():
            func.attrs["global_symbol"] = name


def _private(sketch: Sketch) -> None:
    for name in _called_public(sketch):
        del sketch.functions[name].attrs["global_symbol"]


def without_local_functions(sketch: Sketch) -> None:
    """Put the body of each local function where it stands, once for all uses; its parameters are then its caller's."""
    while found := [slot for slot in slots_of(sketch) if isinstance(slot.binding.value, Func)]:
        slot = found[-1]
        local, var, outer = slot.binding.value, slot.binding.var, sketch.functions[slot.function]
        if uses.uses(local)[var]:
            raise Invalid("a local function that calls itself")
        outer.pure = outer.pure and local.pure
        for param in local.params:
            outer.add_param(param)
        for user in slots_of(sketch):
            if isinstance(call := user.binding.value, tvm.ir.Call) and call.op.same_as(var):
                user.remove()
                sketch.aliases[user.binding.var] = local.body.result
        splice(sketch, slot, local.body)  # last: it makes other blocks


def with_packed_functions(sketch: Sketch) -> None:
    """Call packed functions where local functions are made and called: of what those mention, and of the operands."""
    for slot in slots_of(sketch):
        value: Any = slot.binding.value
        if isinstance(value, Func):
            var, mentioned = slot.binding.var, uses.uses(value)
            slot.binding.var = sketch.aliases[var] = type(var)(var.name, relax.AnyType())
            _call_packed(slot, [each for each in slot.visible if mentioned[each]])
        elif isinstance(value, tvm.ir.Call) and isinstance(value.op, relax.Var):
            _call_packed(slot, [value.op, *value.args])


def without_closures(sketch: Sketch) -> None:
    """Call packed functions where closures are made and called: of the same operands, but of no function."""
    for slot in slots_of(sketch):
        call: Any = slot.binding.value
        if operator_of(call) in _CLOSURES:
            made = [] if operator_of(call) == _MAKES else [call.args[0]]
            _call_packed(slot, [*made, *call.args[1].fields])


def _call_packed(slot: Slot, operands: list[Any]) -> None:
    value, ty = slot.binding.value, slot.binding.var.ty
    impure = relax.Call(relax.ExternFunc(_PACKED), operands, ty_args=[ty])
    slot.binding.value = impure if is_impure(value) else relax.op.call_pure_packed(_PACKED, *operands, ty_args=ty)


def with_direct_calls(sketch: Sketch) -> None:
    """Call functions of which closures are made: those bound come last, and new parameters stand for missing ones."""
    slots = slots_of(sketch)
    made = {slot.binding.var: slot for slot in slots if operator_of(slot.binding.value) == _MAKES}
    invoked = set[Any]()
    for slot in slots:
        call: Any = slot.binding.value
        if operator_of(call) in _CLOSURES - {_MAKES}:
            if call.args[0] not in made:
                raise Invalid("a closure that comes from elsewhere")
            invoked.add(call.args[0])
            function, operands = made[call.args[0]].binding.value.args
            slot.binding.value = relax.Call(function, [*call.args[1].fields, *operands.fields])
    for var, slot in made.items():
        function, operands = slot.binding.value.args[0], [*slot.binding.value.args[1].fields]
        if var in invoked:
            slot.remove()
            continue
        missing = [relax.Var("operand", ty) for ty in function.ty.params[: -len(operands) or None]]
        for param in missing:
            sketch.functions[slot.function].add_param(param)
        slot.binding.value = relax.Call(function, [*missing, *operands])


EDITS: dict[Edit | Rarity | None, _Edit] = {
    Edit.NAMES: _with_other_names,
    Edit.NUMBERS: _with_numbers,
    None: _on_sketch(functools.partial(_two_for, 1)),
    Rarity.VALUES: _on_sketch(_plain_values),
    Rarity.EMPTY: _on_sketch(functools.partial(_two_for, 0)),
    Rarity.FLOAT8: _on_sketch(_float16),
    Rarity.LOCAL_FUNCTIONS: _on_sketch(without_local_functions),
    Rarity.CLOSURES: _on_sketch(without_closures),
    Rarity.FORCED_PURITY: _on_sketch(_unforced),
    Rarity.PUBLIC_CALLS: _on_sketch(_private),
}
"""How a module is changed to see what a failure hangs on, a rare thing for an ordinary one among others."""
_OTHER_EDITS: dict[Rarity | None, tuple[_Edit, ...]] = {
    Rarity.LOCAL_FUNCTIONS: (lambda module, _: relax.transform.LambdaLift()(module), _on_sketch(with_packed_functions)),
    Rarity.CLOSURES: (_on_sketch(with_direct_calls),),
}
"""Other ordinary things that may stand for a rare one."""
