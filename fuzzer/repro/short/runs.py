"""The oracles that run passes, once or again, in short scripts: crash, mutation, determinism and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax

from fuzzer.findings.script_parts import Ending
from fuzzer.repro.checks.check import NOT_EQUAL, REPEATS, fragments
from fuzzer.repro.checks.runs import promised_runs
from fuzzer.repro.short.scene import AFTER, BEFORE, Scene, Showing, commented, failing
from oracles.core.verdict import Evidence
from relaxkit.ir.first_difference import differences

UNEQUAL = "ValueError"
"""What ``tvm.ir.assert_structural_equal`` raises."""


def same(left: str, right: str, more: str = "") -> str:
    """Write the assertion that two modules, or two functions, are equal."""
    return f"tvm.ir.assert_structural_equal({left}, {right}{more})"


def raises(evidence: Evidence, lines: list[str], message: str | None = None) -> Showing:
    """Return the showing of lines whose last one raises the error of the evidence."""
    said = evidence.message if message is None else message
    acts = [*lines[:-1], *commented(lines[-1], f"{evidence.kind}: {said}")]
    first = next((number for number in reversed(range(len(lines))) if not lines[number].startswith(" ")), 0)
    return Showing(tuple(acts), Ending(evidence.kind, tuple(fragments(said)), first))


def ill_formed(lines: list[str], name: str, module: Any) -> Showing:
    """Show that TVM's checker objects to a module in a variable; raises ``ValueError`` where it does not."""
    try:
        relax.analysis.well_formed(module)
    except Exception as error:
        kind, said = type(error).__name__, str(error)
        return failing(lines, f"relax.analysis.well_formed({name})", f"{kind}: {said}", kind, fragments(said))
    raise ValueError("the module is well formed")


def crash(scene: Scene) -> Iterator[Showing]:
    """Show an error of the passes: the bare call."""
    if scene.failure.died:
        yield Showing(tuple(scene.applied("")), Ending())
        return
    for module, line in scene.direct():
        yield replace(raises(scene.failure.evidence, [line]), module=module)
    error = scene.run().error
    yield raises(scene.failure.evidence, scene.applied(""), None if error is None else error.message)


def mutation(scene: Scene) -> Iterator[Showing]:
    """Show that the passes write into the module that they are given."""
    module = scene.fresh()
    printed, saved = str(module.script()), str(tvm.ir.save_json(module))
    result = scene.run(module)
    calls = scene.applied("")
    if result.module is None:
        calls = ["with contextlib.suppress(Exception):", *(f"    {line}" for line in calls)]
    compared = tvm.ir.load_json(saved), module
    if printed != str(module.script()):
        said = ', f"the input module was modified:\\n{Before.script()}"'
        yield failing(("seen = Before.script()", *calls), f"assert Before.script() == seen{said}", compared=compared)
    # TVMScript does not show everything, such as the device of a constant.
    said = next((f"it {each.change}" for each in differences(*compared)), "modified in place")
    for seen in (f"tvm_ffi.structural_hash({BEFORE})", f"tvm.ir.save_json({BEFORE})"):
        yield failing((f"seen = {seen}", *calls), f"assert {seen} == seen, {said!r}", compared=compared)


def determinism(scene: Scene) -> Iterator[Showing]:
    """Show that runs of the same passes on the same input give different things."""
    indented = [f"    {line}" for line in scene.applied("Again")]
    loop = f"for _ in range({REPEATS}):  # not the same each time"
    if scene.kind == NOT_EQUAL:
        lines = (*scene.applied(), loop, *indented, f"    {same('Again', AFTER)}")
        yield Showing(lines, Ending(UNEQUAL, (), len(scene.applied())))
    else:
        lines = (*scene.applied(), f"for _ in range({REPEATS}):  # one of them raises", *indented)
        yield Showing(lines, Ending(scene.kind, tuple(scene.failure.fragments), 0))


def sequential(scene: Scene) -> Iterator[Showing]:
    """Show that ``Sequential`` of the passes does something else than direct calls."""
    calls = [line.strip() for line in scene.applied(AFTER, BEFORE)]
    texts = [line.removeprefix(f"{AFTER} = ") for line in calls if line.startswith(f"{AFTER} = ")]
    passes = ", ".join(text.removesuffix(f"({BEFORE})").removesuffix(f"({AFTER})") for text in texts)
    target = 'tvm.target.Target("llvm")' if scene.needs_target else ""
    grouped = f"tvm.transform.Sequential([{passes}])({BEFORE})"
    around = [f"with {target}:", f"    Grouped = {grouped}"] if target else [f"Grouped = {grouped}"]
    if scene.kind == NOT_EQUAL:
        yield failing((*scene.applied(), *around), same("Grouped", AFTER), error=UNEQUAL)
        return
    for lines in ((*scene.applied(), *around), (*around, *scene.applied())):
        yield Showing(lines, Ending(scene.kind, (), 0))


def idempotence(scene: Scene) -> Iterator[Showing]:
    """Show that passes fail on their own output, or change it."""
    evidence, runs = scene.failure.evidence, promised_runs(scene.failure)
    names = ["Once", "Twice", *(f"Run{number}" for number in range(3, runs + 2))]
    lines: list[str] = []
    module = BEFORE
    for name in names[: runs + 1]:
        lines += scene.applied(name, module)
        previous, module = module, name
    if scene.kind == NOT_EQUAL:
        yield failing(lines, same(module, previous), error=UNEQUAL)
        return
    lines = [*scene.applied("Once", BEFORE), *scene.applied("Twice", "Once")]
    if scene.kind == "ill-formed":
        twice = scene.run(scene.after).module
        yield replace(ill_formed(lines, "Twice", twice), compared=(scene.after, twice))
        return
    yield raises(evidence, lines, evidence.details.error or evidence.message)
