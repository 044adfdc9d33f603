"""The oracles that look at what passes give, in short scripts: well-formed, postcondition, roundtrip."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm_ffi import structural_equal

from fuzzer.findings.script_parts import Ending
from fuzzer.repro.short.before import source_of
from fuzzer.repro.short.questions import asked
from fuzzer.repro.short.runs import UNEQUAL, ill_formed, same
from fuzzer.repro.short.scene import AFTER, ASSERTION, BEFORE, Scene, Showing, failing
from oracles.core.verdict import Notation
from oracles.structural.roundtrip import NOTATIONS
from oracles.structural.roundtrip_forms import (
    TOGETHER,
    UNLISTED_DEVICE,
    UNPRINTABLE_NAME,
    loss_in_script,
    unit_names,
    unit_of,
)  # fmt: skip
from relaxkit.ir.functions import functions_by_name, is_public, relax_functions
from relaxkit.passes.arguments import written_arguments
from relaxkit.passes.claims.kept import claims_of
from relaxkit.passes.contract import Harm, Postcondition, Ran
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import namespace

_SHOWN_LINES = 40
"""A longer module is not printed: who runs the script would not find the place in it."""


def shown(scene: Scene) -> list[str]:
    """Write the lines that apply the passes, and print what they give where that is short."""
    calls = scene.applied()
    try:
        lines = len(str(scene.after.script()).splitlines())
    except Exception:  # what cannot be printed is no less of a defect
        return calls
    if lines <= _SHOWN_LINES:
        return [*calls, f"print({scene.subject}.script())"]
    before, after = functions_by_name(scene.fresh()), dict(relax_functions(scene.after))
    changed = (name for name in after if name in before and not structural_equal(before[name], after[name]))
    short = (name for name in changed if len(str(after[name].script()).splitlines()) <= _SHOWN_LINES)
    return [*calls, *(f'print({scene.subject}["{name}"].script())' for name in itertools.islice(short, 1))]


def well_formed(scene: Scene) -> Iterator[Showing]:
    """Show that a well-formed module becomes an ill-formed one, or one whose types are wrong."""
    if scene.failure.died:
        yield Showing((*scene.applied(), f"relax.analysis.well_formed({scene.subject})"), Ending())
        return
    lines = shown(scene)
    if scene.kind == "ill-formed":
        yield ill_formed(lines, scene.subject, scene.after)
        return
    for line in _OF_TYPES[scene.kind](scene):
        if line.startswith(("relax.", "tvm.")):
            yield failing(lines, line, scene.failure.evidence.message, UNEQUAL)
        else:
            yield failing(lines, line, scene.failure.evidence.observed)


def _contradicted(scene: Scene) -> Iterator[str]:
    """Yield the assertion that a function's declared return type and its body's have values in common."""
    for name, function in relax_functions(scene.after):
        if relax.analysis.type_base_check(function.ret_ty, function.body.ty) == relax.analysis.BaseCheckResult.FAIL_L0:
            here = f'{AFTER}["{name}"]'
            yield (
                f"assert relax.analysis.type_base_check({here}.ret_ty, {here}.body.ty) "
                "!= relax.analysis.BaseCheckResult.FAIL_L0"
            )


def _signature(scene: Scene) -> Iterator[str]:
    """Yield the assertion that a public function keeps its signature."""
    after = dict(relax_functions(scene.after))
    for name, old in relax_functions(scene.fresh()):
        new = after.get(name)
        if not is_public(old):
            continue
        if new is None:
            yield f'assert "{name}" in [var.name_hint for var in {AFTER}.get_global_vars()]'
        elif not is_public(new):
            yield f'assert "global_symbol" in ({AFTER}["{name}"].attrs or {{}}), "{name} is private now"'
        elif not tvm_ffi.structural_equal(old.ty, new.ty, map_free_vars=True):
            yield same(f'{AFTER}["{name}"].ty', f'{BEFORE}["{name}"].ty', ", map_free_vars=True")


def _mistyped(scene: Scene) -> Iterator[str]:
    """Yield the inference of a call by the type of its function, or that it gives the type of the call."""
    module = scene.after
    functions = dict(relax_functions(module))
    for name, function in functions.items():
        for number, block in enumerate(function.body.blocks):
            for place, binding in enumerate(block.bindings):
                value: Any = getattr(binding, "value", None)
                callee = str(getattr(getattr(value, "op", None), "name_hint", ""))
                if callee not in functions:
                    continue
                call = f'{AFTER}["{name}"].body.blocks[{number}].bindings[{place}].value'
                again = (
                    f'relax.BlockBuilder().normalize(relax.Call(relax.Var("{callee}", {AFTER}["{callee}"].ty), '
                    f"{call}.args))"
                )
                if (inferred := _inferred(value, functions[callee])) is None:
                    yield again
                elif relax.analysis.type_base_check(value.ty, inferred) == relax.analysis.BaseCheckResult.FAIL_L0:
                    fails = "relax.analysis.BaseCheckResult.FAIL_L0"
                    yield f"assert relax.analysis.type_base_check({call}.ty, {again}.ty) != {fails}"
    # Of a kernel: what is parsed has the present type.
    yield f"relax.analysis.well_formed(tvm.script.from_source({AFTER}.script(), check_well_formed=False))"


_OF_TYPES: dict[str, Callable[[Scene], Iterator[str]]] = {
    "contradicted-type": _contradicted,
    "signature": _signature,
    "mistyped-call": _mistyped,
}


def _inferred(call: Any, function: Any) -> Any:
    """Return the type that a call of a function has; ``None`` where its operands do not fit."""
    try:
        made: Any = relax.BlockBuilder().normalize(relax.Call(relax.Var("callee", function.ty), call.args))
    except Exception:
        return None
    return made.ty


def postcondition(scene: Scene) -> Iterator[Showing]:
    """Show that a pass has not done what it claims: by the fact itself, else by the module that it gives."""
    evidence = scene.failure.evidence
    if scene.failure.died:
        yield Showing(tuple(scene.applied()), Ending())
        return
    details = evidence.details
    said = details.deed(scene.failure.verdict.culprit) if details.done else evidence.message
    module, row = scene.fresh(), _row(scene)
    if inspect.isgeneratorfunction(claim := inspect.unwrap(row.violation)):
        yield asked(module, next(each for each in claim(Ran(module, module, {})) if each.contradiction()), said)
    lines = shown(scene)
    for fact in _facts(scene, row):
        *first, line = fact.splitlines()
        yield failing([*lines, *first], line, said, UNEQUAL if line[:4] == "tvm." else ASSERTION)
    unchanged = structural_equal(scene.fresh(), scene.after)
    if not unchanged or row.harm is Harm.LESS:  # else a mended TVM would give the same
        name, second = (BEFORE, "") if unchanged else ("Wrong", source_of(scene.after, "Wrong"))
        gone = f"the pass no longer gives the module `{name}`"
        line = f"assert not tvm_ffi.structural_equal({AFTER}, {name}), {said!r}"
        found = failing(lines, line, second=second, remark=f"It exits with 0 once {gone}.")
        yield replace(found, ending=replace(found.ending, gone=gone))


def _row(scene: Scene) -> Postcondition:
    """Return the claim that does not hold."""
    failure = scene.failure
    contract = contract_for(next(ref for ref in failure.case.passes if ref.name == failure.verdict.culprit))
    return next(item for item in claims_of(contract) if item.claim == failure.evidence.details.claim)


def _facts(scene: Scene, row: Postcondition) -> Iterator[str]:
    """Yield the assertions of a claim's row that do not hold, of the module or of one of its functions."""
    known = {**namespace(), BEFORE: scene.fresh(), AFTER: scene.after}
    culprit = next((ref for ref in scene.judged if ref.name == scene.failure.verdict.culprit), None)
    given = written_arguments(culprit.expression) if culprit is not None else {}
    places = [given[place] for place in sorted(given) if place.isdigit()]
    done = scene.failure.evidence.details.done
    names = [*functions_by_name(known[BEFORE])]
    told = [name for name in names if re.search(rf"\b{re.escape(name)}\b", done)]  # others may change as they please
    with contextlib.suppress(IndexError):  # an argument that the row mentions is not written so
        for text in dict.fromkeys(row.shown.format(*places, name=name) for name in told or names or [""]):
            *first, line = text.splitlines() or [""]
            try:
                exec("\n".join(each for each in first if not each.startswith("print(")), known)
            except Exception:  # it is not about this function
                continue
            try:
                exec(line, dict(known))
            except Exception:  # it shows the failure
                yield text


def roundtrip(scene: Scene) -> Iterator[Showing]:
    """Show that a module does not round-trip through TVMScript, or from JSON; or that no notation can hold it."""
    evidence, died = scene.failure.evidence, scene.failure.died
    if scene.failure.verdict.culprit in NOTATIONS and scene.judged:
        module = _output(scene)
        for showing in roundtrip(Scene(scene.failure, str(tvm.ir.save_json(module)), (), (), None)):
            yield from (showing, replace(showing, module=module))  # the input may show it as well
    lines, name = scene.applied(), scene.subject
    if evidence.kind == UNLISTED_DEVICE:
        line = f'assert ":-1:" not in {name}.script()  # TVM prints a device that the module does not list as :-1:'
        yield failing(shown(scene), line)
        return
    if evidence.kind == UNPRINTABLE_NAME:
        line = f"assert all(var.name_hint.isidentifier() for var in {name}.get_global_vars()), {name}.get_global_vars()"
        yield failing(lines, line)
        return
    in_json = evidence.details.notation is Notation.JSON
    written = f"tvm.ir.save_json({name})" if in_json else f"{name}.script(show_meta=True)"
    read = "tvm.ir.load_json(text)" if in_json else "tvm.script.from_source(text, check_well_formed=False)"
    writes, reads = f"text = {written}", f"again = {read}"
    if died:
        yield Showing((*lines, writes, reads), Ending())
    elif evidence.kind in ("not-saved", "not-printed"):
        yield failing(lines, written, evidence.message, "")
    elif evidence.kind in ("not-loaded", "not-parsed"):
        tells = [] if in_json else ['os.environ["TVM_BACKTRACE"] = "1"  # TVM then prints where its parser stops']
        yield failing((*lines, writes, *tells), reads, evidence.message, "")
    else:
        yield failing((*lines, writes, reads), same("again", name), evidence.message, UNEQUAL)


def _output(scene: Scene) -> Any:
    """Return what the passes give; where TVM cannot parse that for another reason, the part that does not come back."""
    module, evidence = scene.after, scene.failure.evidence
    if evidence.kind == "reads-otherwise" and (loss_in_script(module, TOGETHER) or ("",))[0] == "not-parsed":
        seen = evidence.kind, evidence.message
        lost = (name for name in unit_names(module) if loss_in_script(module, name) == seen)
        module = next((unit_of(module, name) for name in lost), module)
    return module
