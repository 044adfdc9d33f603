"""Further calls of a transformed program that is right on its first inputs.

It is called on other inputs (:mod:`oracles.variations`), and then on the first again: a program that keeps something
from call to call, a buffer that it planned for one shape say, gives itself away.  What the first call returned is held
meanwhile, and must stay what it was.  And it is called in poisoned memory (:mod:`oracles.execution.poison`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oracles.abi import NoAdapter, call
from oracles.abi.compose import call_raw
from oracles.comparison import compare
from oracles.contract import NumericPromise
from oracles.execution import ExecMode, Program, Value, from_tvm
from oracles.execution.poison import PATTERNS, poisoned
from oracles.numeric_limits import captures_weights
from oracles.one_call import Candidate, Undecidable, compare_function, observed, raised
from oracles.original import Entry, Original
from oracles.variations import Variation, draws
from oracles.verdict import Evidence

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


@dataclass(frozen=True, slots=True)
class Repeated:
    """What is wrong with further calls, and on which inputs that was seen."""

    evidence: Evidence
    variation: Variation = Variation.DEFAULT


def examine_again(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Any
) -> Repeated | None:
    """What is wrong with a function that is right on the inputs of ``entry``, or ``None``.

    Raises:
        NoAdapter: Nobody knows how to call it.
    """
    # Poison first: in memory that happens to be dirty a read of it may show as any other failure, or not at all.
    if not subject.sampled or draws(original.seed, "poison", POISON_SHARE):
        found = _garbage(original, candidate, program, entry, subject)
        if found is not None:
            return Repeated(found)
    return _other_inputs(original, candidate, program, entry, subject)


def by_memory(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Any, found: Evidence
) -> Evidence:
    """What is wrong with a function, said so that it is the same in another process.

    A read of uninitialized memory may raise here, and give another value or the right one there.

    Args:
        original: The original.
        candidate: The transformed module.
        program: It, built.
        entry: The function on the inputs on which ``found`` was seen.
        subject: The subject.
        found: What is wrong.
    """
    if found.kind not in _BY_CHANCE:
        return found
    return _garbage(original, candidate, program, entry, subject, failed=True) or found


def _other_inputs(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Any
) -> Repeated | None:
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
        return Repeated(raised(error, entry))
    for other in others:
        found = _one(original, candidate, program, other, subject)
        if found is not None:
            return Repeated(found, other.variation)
    try:
        after = from_tvm(held)
        again = call(program, candidate.adapters, entry.symbol, entry.num_input, entry.arguments)
    except NoAdapter:
        raise
    except Exception as error:
        return Repeated(raised(error, entry))
    if (changed := compare(before, after)) is not None and original.steady(entry, others):
        message = "a later call changes what an earlier one returned"
        return Repeated(observed("output-overwritten", message, changed, entry))
    if (changed := compare(before, again)) is not None and original.steady(entry, others):
        message = "a call gives another result after calls on other inputs"
        return Repeated(observed("later-call-differs", message, changed, entry))
    return None


def _one(original: Original, candidate: Candidate, program: Program, other: Entry, subject: Any) -> Evidence | None:
    """What is wrong on other inputs; nothing where that cannot be decided: on the first inputs it was."""
    try:
        found = compare_function(original, candidate, program, other, subject, ExecMode.BYTECODE)
    except Undecidable:
        return None
    if found is None or not original.fits(other):
        return None
    return by_memory(original, candidate, program, other, subject, found)


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run in poisoned memory gave, or what it raised."""

    value: Value
    error: str = ""


def _garbage(
    original: Original, candidate: Candidate, program: Program, entry: Entry, subject: Any, failed: bool = False
) -> Evidence | None:
    """Whether the result depends on what was in memory before; if it has ``failed``, the error may be one that does."""
    subject.stage(f"numeric run {entry.symbol} poisoned")
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
        return Evidence("uninitialized-read", message, (), f"{entry.title} returns in any memory", error)
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
