"""Further calls of a transformed program that is right on its first inputs.

It is called on other inputs (:mod:`oracles.measure.input_variations`), and then on the first again: a program that
keeps something from call to call, a buffer that it planned for one shape say, gives itself away.  What the first call
returned is held meanwhile, and must stay what it was.  And it is called in poisoned memory
(:mod:`relaxkit.runtime.poison`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracles.calling import NoAdapter, call
from oracles.calling.compose import call_raw
from oracles.core.verdict import Evidence, Phase
from oracles.measure.comparison import compare
from oracles.measure.input_variations import draws
from oracles.measure.original import Entry, Original
from oracles.numeric.compare_call import Candidate, Finding, Undecidable, compare_function, details_of, observed, raised
from relaxkit.passes.contract import NumericPromise, OracleName, Trait
from relaxkit.passes.contracts import any_has
from relaxkit.passes.pass_ref import Step
from relaxkit.runtime import ExecMode, Program, Value, from_tvm
from relaxkit.runtime.poison import PATTERNS, poisoned

if TYPE_CHECKING:
    from oracles.core.subject import Subject

POISONED = "poisoned"
"""How breadcrumbs call a run in poisoned memory."""
POISON_SHARE = 4
"""One subject in so many of a campaign is run in poisoned memory."""
OF_MEMORY = frozenset(
    {
        "wrong-value",
        "input-overwritten",
        "second-call-differs",
        "output-overwritten",
        "later-call-differs",
        "uninitialized-read",
    }
)
"""What a program that is wrong about its memory may show, now this and now that."""
_BY_CHANCE = OF_MEMORY - {"uninitialized-read"} | {"run-error"}
"""As what a read of uninitialized memory may show, or not, by what happens to be there."""


def examine_again(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Subject
) -> Finding | None:
    """Find what is wrong with a function that is right on the inputs of ``entry``, or ``None``.

    Raises:
        NoAdapter: Nobody knows how to call it.
    """
    # Poison first: in memory that happens to be dirty a read of it may show as any other failure, or not at all.
    if not subject.sampled or draws(original.seed, "poison", POISON_SHARE):
        found = _garbage(original, candidate, program, entry, subject)
        if found is not None:
            return Finding(found)
    return _other_inputs(original, candidate, program, entry, subject)


def by_memory(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Subject, found: Evidence
) -> Evidence:
    """Find what is wrong with a function, said so that it is the same in another process.

    A read of uninitialized memory may raise here, and give another value or the right one there.
    """
    if found.kind not in _BY_CHANCE:
        return found
    return _garbage(original, candidate, program, entry, subject, failed=True) or found


def _other_inputs(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Subject
) -> Finding | None:
    # Only a pass that keeps every bit must treat NaN and infinities as the original does: others may evaluate in an
    # order in which something else overflows.
    special = candidate.promise is NumericPromise.BIT_EXACT and not candidate.adapters
    others = original.varied(entry, special)
    if not others or captures_weights(subject.plan.steps, entry.num_input, len(entry.arguments)):
        return None
    try:
        held = call_raw(program, candidate.adapters, entry.symbol, entry.num_input, entry.arguments)
        before = from_tvm(held)
    except NoAdapter:
        raise
    except Exception as error:
        return Finding(raised(error, entry))
    for other in others:
        found = _one(original, candidate, program, other, subject)
        if found is not None:
            return Finding(found, variation=other.variation)
    try:
        after = from_tvm(held)
        again = call(program, candidate.adapters, entry.symbol, entry.num_input, entry.arguments)
    except NoAdapter:
        raise
    except Exception as error:
        return Finding(raised(error, entry))
    if (changed := compare(before, after)) is not None and original.steady(entry, others):
        message = "a later call changes what an earlier one returned"
        return Finding(observed("output-overwritten", message, changed, entry))
    if (changed := compare(before, again)) is not None and original.steady(entry, others):
        message = "a call gives another result after calls on other inputs"
        return Finding(observed("later-call-differs", message, changed, entry))
    return None


def _one(original: Original, candidate: Candidate, program: Program, other: Entry, subject: Subject) -> Evidence | None:
    """Find what is wrong on other inputs; nothing where that cannot be decided: on the first inputs it was."""
    try:
        found = compare_function(original, candidate, program, other, subject, ExecMode.BYTECODE)
    except Undecidable:
        return None
    if found is None or not original.fits(other):
        return None
    return by_memory(original, candidate, program, other, subject, found)


@dataclass(frozen=True, slots=True)
class _Run:
    """The result of a run in poisoned memory, or its error."""

    value: Value
    error: str = ""


def _garbage(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Subject, failed: bool = False
) -> Evidence | None:
    """Look for a result that depends on what was in memory before; if it has ``failed``, the error may do so."""
    subject.stage(OracleName.NUMERIC, stage=Phase.RUN, entry=entry.symbol, mode=POISONED)
    first, second = (_poisoned_run(candidate, program, entry, pattern) for pattern in PATTERNS)
    changed = compare(first.value, second.value)
    error = first.error or second.error
    if changed is None and (first.error == second.error if failed else not error):
        return None
    again = _poisoned_run(candidate, program, entry, PATTERNS[0])
    if again.error != first.error or compare(again.value, first.value) is not None:
        return None  # not by the pattern alone
    if not original.clean(entry):
        return None
    message = "the result depends on what was in memory before"
    if changed is None or error:
        expected = f"{entry.symbol} returns, whatever is in memory"
        details = replace(details_of(entry, ExecMode.BYTECODE.value), error=error)
        return Evidence("uninitialized-read", message, (), expected, error, details)
    return observed("uninitialized-read", message, changed, entry)


def _poisoned_run(candidate: Candidate, program: Program, entry: Entry, pattern: int) -> _Run:
    try:
        with poisoned(program, pattern):
            value = call(program, candidate.adapters, entry.symbol, entry.num_input, entry.arguments)
    except NoAdapter:
        raise
    except Exception as error:
        return _Run(None, f"{type(error).__name__}: {error}".splitlines()[0])
    finally:
        program.take_output()
    return _Run(value)


def captures_weights(steps: Sequence[Step], num_input: int | None, parameters: int) -> bool:
    """Say whether a program may count on getting the same weights in every call.

    A captured graph reads weights, the parameters beyond ``num_input``, where they were then: RewriteCUDAGraph
    takes them for static (src/relax/transform/rewrite_cuda_graph.cc), and other ones are another program's.
    """
    captured = any_has((step.contract for step in steps), Trait.CAPTURES)
    return captured and num_input is not None and num_input < parameters
