"""Traits of a minimized finding that families need to know beyond its evidence.

Where it shows first: many passes end in another pass, or rewrite with machinery that a more elementary pass is nothing
but.  So the minimized module is given to the elementary passes alone: the first that shows the same failure is where it
comes from.

What it hangs on, as two edits of the module tell: a failure that goes away with other names of functions is about a
name that is taken, whatever it looks like; one that type inference of an operator raises, and that goes away with
numbers for symbolic dims, is about those dims, whichever operator it is.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fuzzer.findings.family import Edit, Skeleton, Traits, symptom_of_verdict
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge, judge_request
from fuzzer.worker.child import breadcrumb
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from oracles.core.verdict import Verdict


def gone_request(given: Case, edit: Edit, oracles: tuple[OracleName, ...]) -> bool:
    """Say, in a worker, whether every oracle passes the edited case; no where the edit does not apply."""
    case = edited(given, EDITS[edit])
    verdicts = [] if case is None else judge_request(case, oracles)
    return bool(verdicts) and all(item.outcome is Outcome.PASS for item in verdicts)


def edited(case: Case, edit: Callable[[Any, Case], Any | None]) -> Case | None:
    """Edit the module of a case; ``None`` where there is nothing to edit, or types do not hold any more."""
    import tvm
    from tvm import relax

    from fuzzer.core.case import load_module
    from relaxkit.ir.retype import Invalid

    breadcrumb("traits")
    try:
        other = edit(load_module(case), case)
    except (Invalid, RuntimeError, TypeError, ValueError):
        return None
    sound = other is not None and relax.analysis.check_well_formed(other)
    return replace(case, module_json=str(tvm.ir.save_json(other))) if sound else None


def _with_other_names(module: Any, case: Case) -> Any | None:
    """Nothing where a lone function has no name to share, or where an argument of a pass names a function."""
    from tvm_ffi.serialization import from_json_graph_str

    from relaxkit.ir.edits import functions_of, graph_of, with_functions
    from relaxkit.passes.arguments import names_in

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


def _with_numbers(module: Any, case: Case) -> Any | None:
    """Give dims that calls make equal one number, that of the callers where they have one."""
    import tvm

    from relaxkit.ir.retype import dtype_of
    from relaxkit.ir.sketch.emit import emit
    from relaxkit.ir.sketch.sketch import take
    from relaxkit.ir.sketch.symbols import groups

    sketch = take(module)
    for group in groups(sketch):
        for symbol in group.symbols:
            sketch.retype.symbols[symbol] = tvm.tirx.IntImm(dtype_of(symbol), group.sizes[0])
    return emit(sketch) if sketch.retype.symbols else None


EDITS = {Edit.NAMES: _with_other_names, Edit.NUMBERS: _with_numbers}
ELEMENTARY = (
    "Normalize",
    "CanonicalizeBindings",
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "RemovePurityChecking",
)
"""What other passes run inside, or rewrite with, the simplest first; all of them take no arguments.

RemovePurityChecking does nothing but to rebuild every function, and so to infer its types afresh.
"""
_NESTED = ("ill-formed", "signature")


def nested_request(case: Case, culprit: str, kind: str) -> str:
    """Return, in a worker, the innermost public pass in the culprit that first gives such a module; empty for none."""
    from fuzzer.core.case import load_module
    from oracles.core.blame import inner_pass
    from oracles.core.function_signatures import changed_signature
    from oracles.core.module_facts import complaint
    from oracles.core.subject import Subject

    breadcrumb("traits")
    subject = Subject(load_module(case), case.passes, input_seed=case.input_seed)
    steps = subject.plan.steps
    for index in range(len(subject.chain)):
        if steps[index].ref.name != culprit:
            continue
        entered = subject.input_of(index)
        wrong = functools.partial(changed_signature, entered) if kind == "signature" else complaint
        if (name := inner_pass(subject.built(index), entered, wrong, innermost=True)) is not None:
            return name
    return ""


def skeleton_request(module_json: str) -> Skeleton:
    """Return, in a worker, what a module is made of."""
    import tvm

    from strategies.detect.profile import profile_of

    profile = profile_of(tvm.ir.load_json(module_json), operands=False)
    operators = {name.removeprefix("relax.") for name in profile.operators}
    return Skeleton(tuple(sorted(operators)), tuple(sorted(set(profile.parts) - {"function"})))


def find_traits(judge: Judge, case: Case, verdict: Verdict) -> Traits:
    """Return the origin of a failure that ``case``, minimized, shows; never raises for what TVM does.

    Args:
        judge: Of the failure's oracle.
        case: The smallest case that shows it.
        verdict: Its verdict.
    """
    skeleton = judge.ask(skeleton_request, case.module_json)
    culprit = _elementary(judge, case, verdict) or _nested(judge, case, verdict) or verdict.culprit
    gone = frozenset(edit for edit in _telling(verdict) if judge.ask(gone_request, case, edit, judge.oracles) is True)
    return Traits(culprit, skeleton if isinstance(skeleton, Skeleton) else Skeleton(), gone)


def _telling(verdict: Verdict) -> tuple[Edit, ...]:
    """Return the edits that can tell more of a failure than its words: a query each, for few."""
    symptom = symptom_of_verdict(verdict)
    if not symptom.laddered or symptom.mute:
        return ()
    return (Edit.NAMES, Edit.NUMBERS) if symptom.refused else (Edit.NAMES,)


def _nested(judge: Judge, case: Case, verdict: Verdict) -> str:
    found = verdict.evidence
    if found is None or found.kind not in _NESTED or verdict.oracle is not OracleName.WELL_FORMED:
        return ""
    name: Any = judge.ask(nested_request, case, verdict.culprit, found.kind)
    return name if isinstance(name, str) else ""


def _elementary(judge: Judge, case: Case, verdict: Verdict) -> str:
    """Return the first elementary pass that shows the same failure; empty when none before the culprit does."""
    wanted = symptom_of_verdict(verdict)
    if not wanted.laddered:
        return ""
    before = itertools.takewhile(lambda name: name != verdict.culprit, ELEMENTARY)
    return next((name for name in before if shown_by(judge, case, verdict, name)), "")


def shown_by(judge: Judge, case: Case, verdict: Verdict, name: str) -> list[tuple[Case, Verdict]]:
    """Return the case in which an elementary pass alone shows the same failure, and its verdict; or nothing."""
    alone = replace(case, passes=(PassRef(name, f"relax.transform.{name}()"),))
    return [(alone, other) for other in judge.verdicts(alone) if _same(other, verdict)][:1]


def first_run_request(case: Case, verdict: Verdict) -> tuple[Case, Verdict] | None:
    """Return, in a worker, the case whose first run fails as a second one does, and its verdict; if there is one."""
    from oracles.core.subject import Subject

    def transformed(module: Any, case: Case) -> Any:
        return Subject(module, case.passes, input_seed=case.input_seed).output_module

    again = edited(case, transformed)
    if again is None:
        return None
    verdicts = judge_request(again, (OracleName.CRASH, OracleName.WELL_FORMED))
    fails = (each for each in verdicts if each.evidence is not None)
    return next(((again, each) for each in fails if signature(each).message == signature(verdict).message), None)


def _same(other: Verdict, verdict: Verdict) -> bool:
    """Say whether two failures of one module look the same, the passes apart."""
    if symptom_of_verdict(other) != symptom_of_verdict(verdict) or verdict.evidence is None:
        return False
    return verdict.evidence.is_death or signature(other).message == signature(verdict).message
