"""The oracles that change what is around a run, in short scripts: other functions, and the environment."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.case import subject_of
from fuzzer.findings.script_parts import Ending
from fuzzer.repro.checks.check import NOT_EQUAL
from fuzzer.repro.checks.locality import NOT_LOCAL
from fuzzer.repro.module.builder import Unsayable
from fuzzer.repro.short.before import as_read, source_of
from fuzzer.repro.short.runs import UNEQUAL, raises, same
from fuzzer.repro.short.scene import AFTER, ASSERTION, BEFORE, Scene, Showing, failing
from oracles.core.module_facts import apply, complaint
from oracles.metamorphic.locality import reach_of
from oracles.metamorphic.locality_compare import reached
from oracles.metamorphic.locality_variation import Change, ModuleVariation, draw
from relaxkit.ir.edits import copy_of, functions_of, without
from relaxkit.ir.functions import functions_by_name, is_public
from relaxkit.passes.arguments import parts_of
from relaxkit.passes.contract import Circumstance

_BESIDE, _WITHOUT = "Beside", "Without"
"""Names of the second module: the same, changed where it must not matter, or without the functions beside its own."""


def locality(scene: Scene) -> Iterator[Showing]:
    """Show the passes on two modules that differ where it must not matter; the second may be made of the first."""
    if scene.prepare:
        raise Unsayable("both modules are those after the preparing passes")
    variation = _variation(scene)
    shown = functools.partial(_shown_beside, scene, variation.roots)
    beside = variation.module
    if variation.change is Change.ADDED:
        beside = _without_idle(scene, beside, shown)
        second = _without(beside, scene.fresh())
        for lines in shown(beside, names=(_WITHOUT, BEFORE)):
            yield replace(lines, second=second, module=beside)
        return
    reordered = variation.change is Change.REORDERED
    second = _reordered(scene.fresh(), beside) if reordered else source_of(beside, _BESIDE)
    yield from (replace(lines, second=second) for lines in shown(beside))


def _variation(scene: Scene) -> ModuleVariation:
    """Return the variation that the oracle draws, with the module beside the scene's."""
    subject = subject_of(scene.failure.case)
    variation = draw(subject, reach_of(subject)) if subject.facts is not None else None
    if variation is None:
        raise Unsayable("nothing of the module can be varied")
    module = variation.module
    steps = [part for step in subject.plan.steps for part in parts_of(step.ref)]
    for ref in steps[: scene.index or 0] if len(scene.judged) == 1 else ():
        module = apply(ref.build(), module).module
        if module is None:
            raise Unsayable("an earlier pass raises on the module that is varied")
    return replace(variation, module=from_json_graph_str(as_read(str(tvm.ir.save_json(module)), _BESIDE)))


def _shown_beside(
    scene: Scene, roots: tuple[str, ...], beside: Any, names: tuple[str, str] = (BEFORE, _BESIDE)
) -> list[Showing]:
    """Return what shows that the passes treat a module and the one beside it, of these names, differently."""
    if scene.failure.died:
        return [Showing(tuple(line for name in names for line in scene.applied("", name)), Ending())]
    first, again = scene.run(), scene.run(copy_of(beside))
    if first.module is None or again.module is None:
        # Healed by the change, or raised because of it: one of the two calls does not come back.
        error, names = first.error or again.error, names if first.module is not None else names[::-1]
        both = first.module is None and again.module is None
        lines = [line for name in names for line in scene.applied("", name)]
        return [] if error is None or both or scene.kind == NOT_LOCAL else [raises(error, lines)]
    lines = [*scene.applied(AFTER, names[0]), *scene.applied("Other", names[1])]
    compared = first.module, again.module
    return [
        failing(lines, line, error=UNEQUAL if line.startswith("tvm.") else ASSERTION, compared=compared)
        for line in _differences(*compared, roots)
    ]


def _without_idle(scene: Scene, beside: Any, shown: Callable[[Any], list[Showing]]) -> Any:
    """Leave out the functions beside those of the scene's module without which the failure shows as well.

    Of those that stay a function that returns its parameter will do where nothing but the name matters.
    """
    if scene.failure.died:
        return beside
    own, endings = functions_by_name(scene.fresh()), {each.ending for each in shown(beside)}
    x = relax.Var("x", relax.TensorType((1,), "float32"))
    for name in 2 * [name for name in functions_by_name(beside) if name not in own]:  # again, without their callers
        smaller, plain = without(beside, [name]), copy_of(beside)
        if complaint(smaller) is not None or name not in functions_by_name(beside):  # others call it, or it is gone
            continue
        body: Any = relax.BlockBuilder().normalize(relax.SeqExpr([], x))
        returning = relax.Function([x], body, x.ty)
        plain[name] = returning.with_attr("global_symbol", name) if is_public(beside[name]) else returning
        fail = (each for each in (smaller, plain) if endings.intersection(found.ending for found in shown(each)))
        beside = next(fail, beside)
    return beside


def _without(beside: Any, own: Any) -> str:
    """Write how a module of fewer functions is made of the one beside it, whose other functions are as they are."""
    gone = [name for name in functions_of(beside) if name not in functions_of(own)]
    return "\n".join([f"{_WITHOUT} = {BEFORE}.clone()", *(f'del {_WITHOUT}["{name}"]' for name in gone)])


_ORDERED = """\
def ordered(module, *names):
    functions = {{module.get_global_var(name): module[name] for name in names}}
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


{beside}, {before} = ordered({before}, {theirs}), ordered({before}, {ours})
"""


def _reordered(module: Any, beside: Any) -> str:
    """Write the module of the same functions in another order; TVMScript has an order of its own."""
    ours, theirs = (", ".join(f'"{name}"' for name in functions_of(each)) for each in (module, beside))
    return _ORDERED.format(beside=_BESIDE, before=BEFORE, ours=ours, theirs=theirs)


def _differences(after: Any, beside: Any, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield assertions on the functions that come out otherwise, or in one of the two modules only."""
    ours, theirs = functions_by_name(after), functions_by_name(beside)
    for name in dict.fromkeys(name for root in roots for name in (root, *reached(ours, root))):
        if (name in ours) != (name in theirs):
            there = AFTER if name in theirs else "Other"
            yield f'assert "{name}" in [var.name_hint for var in {there}.get_global_vars()]'
        elif name in ours and not tvm_ffi.structural_equal(ours[name], theirs[name], map_free_vars=True):
            yield same(f'Other["{name}"]', f'{AFTER}["{name}"]', ", map_free_vars=True")


_WATCH = """\
@tvm.ir.instrument.pass_instrument
class Watch:
    shown = []

    def run_before_pass(self, module, info):
        self.shown.append(module)
"""
_CONTEXTS: dict[Circumstance, tuple[str, str]] = {
    Circumstance.LEVEL_0: ("", "tvm.transform.PassContext(opt_level=0)"),
    Circumstance.LEVEL_1: ("", "tvm.transform.PassContext(opt_level=1)"),
    Circumstance.LEVEL_3: ("", "tvm.transform.PassContext(opt_level=3)"),
    Circumstance.IMMUTABLE: ("", 'tvm.transform.PassContext(config={"testing.immutable_module": True})'),
    Circumstance.OTHER_TARGET: ("", 'tvm.target.Target("c")'),
    Circumstance.NO_TARGET: ("", 'tvm.target.Target("llvm")'),
    Circumstance.REBUILT: ("", ""),
    Circumstance.TIMING: ("", "tvm.transform.PassContext(instruments=[tvm.ir.instrument.PassTimingInstrument()])"),
    Circumstance.INSTRUMENT: (_WATCH, "tvm.transform.PassContext(instruments=[Watch()])"),
}
"""What must be defined for the second run, and what it stands in; of other circumstances no script is short."""


def environment(scene: Scene) -> Iterator[Showing]:
    """Show the passes plainly, and under a circumstance that must not matter."""
    row = next(
        (row for how, row in _CONTEXTS.items() if how.value == scene.failure.evidence.details.circumstance), None
    )
    if row is None:
        raise Unsayable(f"a run {scene.failure.evidence.details.circumstance} needs more than a context")
    definitions, context = row
    contexts = [context] if context else []
    plain, again = scene.applied(), scene.applied("Other", BEFORE, *contexts)
    if scene.kind == NOT_EQUAL:
        yield failing([*plain, *again], same("Other", AFTER), error=UNEQUAL, definitions=definitions)
        return
    evidence = scene.failure.evidence
    for lines_of in ([*plain, *again], [*again, *plain]):
        yield raises(evidence, lines_of, evidence.details.error or evidence.message)
