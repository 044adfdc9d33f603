"""The case that begins at the pass at fault: what led up to it, preparing passes and a pipeline, is written out.

The module that stood before the pass takes the place of the passes that made it. Preparing passes are still in the plan
then, but change nothing any more, and need not be shown. Runs inside an isolated worker, for passes may die.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tvm
from tvm.ir.instrument import pass_instrument
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.case import Case
from fuzzer.minimizer.safety import hazards
from fuzzer.minimizer.search.messages import EnteredCase
from fuzzer.worker.child import breadcrumb
from oracles.core.module_facts import apply
from oracles.core.subject import Subject
from relaxkit.ir.equality import digest
from relaxkit.passes.arguments import parts_of
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef, PassReferenceError
from relaxkit.passes.plan import preparing

_RUNS = 3  # after which preparing passes have nothing left to do, if that is ever so


def entered(case: Case, culprit: str) -> tuple[EnteredCase, ...]:
    """Return the cases that begin at the pass at fault in a case, the one with the least around it first."""
    breadcrumb("minimizer")
    subject = Subject(from_json_graph_str(case.module_json), case.passes, input_seed=case.input_seed)
    refs = [*subject.plan.prepare, *(part for step in subject.plan.steps for part in parts_of(step.ref))]
    found = [(subject.original, case.passes)]
    if [ref.name for each in case.passes for ref in parts_of(each)] != [culprit]:
        found = [(module, (ref,)) for module, ref in _before(refs, subject.original, culprit)] + found
    entries: dict[str, EnteredCase] = {}
    for module, passes in found:
        ready = _prepared(module, passes)
        if ready is not None and (passes != case.passes or digest(ready) != digest(subject.original)):
            smaller = Case(str(tvm.ir.save_json(ready)), passes, case.input_seed)
            entries.setdefault(smaller.to_json(), EnteredCase(smaller, digest(ready), hazards(ready)))
    return tuple(entries.values())


def stands(module: tvm.IRModule, passes: Sequence[PassRef]) -> bool:
    """Say whether a module stands as the passes need it, although they name passes that prepare modules for them."""
    try:
        subject = Subject(module, passes)
        return bool(subject.plan.prepare) and not subject.preparing
    except (PassReferenceError, ValueError):
        return False  # no passes, or none that can be built


def _prepared(module: tvm.IRModule, passes: Sequence[PassRef]) -> tvm.IRModule | None:
    for _ in range(_RUNS):
        subject = Subject(module, passes)
        if subject.facts is None or not subject.preparing:
            break
        module = subject.module
    return None if subject.facts is None else module


def _before(refs: Sequence[PassRef], module: tvm.IRModule, culprit: str) -> Iterator[tuple[tvm.IRModule, PassRef]]:
    """Yield what stands before the culprit wherever it is met, as one of the passes or inside of one."""
    for number, ref in enumerate(refs):
        gate = _Gate(culprit)
        if ref.name == culprit:
            yield module, ref
        else:
            with tvm.transform.PassContext(instruments=[gate]):
                result = apply(ref.build(), module)
            if gate.entered is not None and culprit in CONTRACTS:
                yield gate.entered, preparing(culprit)
        if ref.name == culprit or gate.entered is not None:
            if ref.name not in {each.name for each in refs[number + 1 :]}:
                return  # it may kill the process
            result = apply(ref.build(), module)
        if result.module is None:
            return
        module = result.module


@pass_instrument
class _Gate:
    """Keeps the module that a pass is given, and lets it not run."""

    def __init__(self, sought: str) -> None:
        self.sought = sought
        self.entered: tvm.IRModule | None = None

    def run_before_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        if self.entered is None and str(info.name) == self.sought:
            self.entered = from_json_graph_str(str(tvm.ir.save_json(module)))
            raise _Entered


class _Entered(Exception):
    """The pass was reached."""
