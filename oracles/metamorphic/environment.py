"""Environment oracle: does the pass give the same under other circumstances?

A pass is a function of the module and of its arguments; what is around a run of it must not matter, but for what its
contract lists with a source (``Contract.environment``).  Each step of a pipeline is run once more under a circumstance,
on the very object that it was applied to before, and must give an equal module, or raise again.  The circumstance is
drawn by the seed of the case and the name of the pass, so that reducing the module keeps it.

A pass that writes into its input is the mutation oracle's case, also where ``testing.immutable_module`` says so; what
only that check sees are the passes inside of a pass, whose inputs nobody else looks at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from hashlib import sha256

import tvm

from oracles.core.applicability import ILL_FORMED_OUTPUT, Inapplicable, modified_input, tolerated
from oracles.core.blame import PassTrace
from oracles.core.evidence import evidence_of
from oracles.core.module_facts import Result, apply, complaint, equal, load
from oracles.core.subject import Subject
from oracles.core.verdict import Details
from oracles.metamorphic.circumstances import other_module_after, run_under
from oracles.metamorphic.engine import Rerun
from relaxkit.passes.contract import Circumstance, Contract, OracleName
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import GivenPass, PassRef


def agrees(subject: Subject) -> bool:
    """Return whether one more run, on a copy of the input, gives what the first gave.

    Each step runs in a ``Sequential`` and under its circumstance, so that one run answers three oracles: determinism,
    environment and, of a single pass, sequential.  Where it says no, each of them makes runs of its own, which say why.
    They always do, but for costly passes, where the subject is not one of a campaign's many, and of users' passes.
    """
    if subject.agrees is None:
        subject.agrees = (
            ((subject.sampled and not any(ref.is_user for ref in subject.passes)) or subject.costly)
            and not subject.ordered
            and not (subject.output.error or subject.unmet or modified_input(subject))
            and _agrees(subject)
        )
    return subject.agrees


def _agrees(subject: Subject) -> bool:
    module = None if subject.facts is None else subject.facts.reload
    for index, direct in enumerate(subject.chain if module is not None else ()):
        step = subject.plan.steps[index]
        subject.stage(OracleName.ENVIRONMENT, step.ref.name)
        how = circumstance(subject.input_seed, step.ref, step.contract)
        again = _run(
            subject, index, how, subject.built(index), module, wrap=lambda each: tvm.transform.Sequential([each])
        )
        if not agree(direct, again):
            return False
        module = again.module
    return module is not None


def reruns(subject: Subject) -> Iterator[Rerun]:
    """Run each step again under its circumstance, and once more where it then gives something else."""
    if agrees(subject):
        return
    for index, direct in enumerate(subject.chain):
        step = subject.plan.steps[index]
        how = circumstance(subject.input_seed, step.ref, step.contract)
        if how is None:
            continue
        subject.stage(OracleName.ENVIRONMENT, step.ref.name)
        again = _run(subject, index, how, subject.built(index), subject.input_of(index))
        if agree(direct, again):
            continue
        if step.contract.address_ordered and direct.error is None and again.error is None:
            raise Inapplicable("order follows addresses")  # plain runs need not show it: other memory, other order
        confirmed = _confirmed(subject, index, how)
        if not agree(confirmed.first, confirmed.again):
            yield confirmed
    if subject.output.error is not None:
        raise Inapplicable("both runs raise")


def circumstance(seed: int, ref: PassRef, contract: Contract) -> Circumstance | None:
    """Return the circumstance under which a pass is run again; ``None`` when its contract lists all of them."""
    excluded = frozenset[Circumstance]().union(*(each.on for each in contract.environment))
    if isinstance(ref, GivenPass):
        excluded |= {Circumstance.REBUILT}
    left = [each for each in Circumstance if each not in excluded]
    # Each draws its own number, so that an edited contract or a new circumstance leaves most draws as they were.
    return max(left, key=lambda each: sha256(f"{seed}:{ref.name}:{each.name}".encode()).digest()[:8], default=None)


def agree(left: Result, right: Result) -> bool:
    """Return whether two results are equal modules, or both errors.

    Which of two errors a pass comes to first is nobody's promise, and a module on which it raises is crash's case.
    """
    if left.error is not None or right.error is not None:
        return left.error is not None and right.error is not None
    return equal(left.module, right.module)


def _run(
    subject: Subject,
    index: int,
    how: Circumstance | None,
    built: tvm.ir.transform.Pass,
    module: tvm.IRModule,
    trace: PassTrace | None = None,
    wrap: Callable[[tvm.ir.transform.Pass], tvm.ir.transform.Pass] = lambda each: each,
) -> Result:
    plan = subject.plan
    before = (*plan.prepare, *(step.ref for step in plan.steps[:index]))
    words, build = "" if how is None else how.value, plan.steps[index].ref.build
    try:
        return Result(run_under(words, wrap(built), lambda: wrap(build()), lambda: _other(before), module, trace))
    except Exception as error:
        return Result(None, evidence_of(error))


@functools.lru_cache(maxsize=256)
def _other(before: tuple[PassRef, ...]) -> tvm.IRModule:
    """Bring the other module to the stage of a step."""
    return other_module_after([ref.build() for ref in before])


def _confirmed(subject: Subject, index: int, how: Circumstance) -> Rerun:
    """Run a step once more both ways; raises ``Inapplicable`` where a difference would say nothing.

    On a copy of the input, since later steps of a pipeline may have written into the modules between the steps, and
    with new objects of the passes, since the circumstance may have left something behind in the old one.
    """
    module = load(subject.before)
    for step in subject.plan.steps[:index]:
        module = None if module is None else apply(step.ref.build(), module).module
    if module is None:
        raise Inapplicable("input cannot be reloaded")
    built = subject.plan.steps[index].ref.build()
    before = str(tvm.ir.save_json(module))
    direct = apply(built, module)
    if direct.error is None and not tolerated(complaint(direct.module), subject.plan.steps[: index + 1]):
        raise Inapplicable(ILL_FORMED_OUTPUT)
    for _ in range(subject.repeats):
        if not agree(direct, apply(built, module)):
            raise Inapplicable("pass is not deterministic")
    if str(tvm.ir.save_json(module)) != before:
        raise Inapplicable("input was modified")
    again = _run(subject, index, how, built, module)
    blame = functools.partial(_culprit, subject, index, how, module)
    return Rerun(direct, again, Details(circumstance=how.value), blame=blame)


def _culprit(subject: Subject, index: int, how: Circumstance, module: tvm.IRModule) -> str:
    """Return the step that differs; of a composed one the first public pass inside that does, if that comes back."""
    step = subject.plan.steps[index]
    if not step.contract.composed:
        return step.ref.name
    outputs: tuple[list[tuple[str, tvm.IRModule]], ...] = ([], [])

    def observe(number: int, running: tuple[str, ...], output: tvm.IRModule) -> None:
        if running[-1] in CONTRACTS:
            outputs[number].append((running[-1], output))

    plainly, surrounded = (PassTrace(functools.partial(observe, number)) for number in (0, 1))
    built = step.ref.build()
    with tvm.transform.PassContext(instruments=[plainly]):
        apply(built, module)
    _run(subject, index, how, built, module, surrounded)
    plain, other = outputs
    for (name, output), (_, again) in zip(plain, other, strict=False):
        if not equal(output, again):
            return name
    return plain[len(other)][0] if len(other) < len(plain) else step.ref.name
