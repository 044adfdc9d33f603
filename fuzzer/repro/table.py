"""How the failures of each oracle are shown and told: one row an oracle."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fuzzer.core.text import cut, plain, without_headers
from fuzzer.findings.script_parts import Words
from fuzzer.repro.checks.check import NOT_EQUAL, Check, FailingCase, error_line, seen_line
from fuzzer.repro.checks.environment import build_environment
from fuzzer.repro.checks.locality import NOT_LOCAL, build_locality
from fuzzer.repro.checks.numeric import build_numeric
from fuzzer.repro.checks.postcondition import build_postcondition
from fuzzer.repro.checks.roundtrip import build_roundtrip
from fuzzer.repro.checks.runs import build_crash, build_determinism, build_idempotence, build_mutation, build_sequential
from fuzzer.repro.checks.well_formed import build_well_formed
from fuzzer.repro.short.around import environment, locality
from fuzzer.repro.short.calls import UNINITIALIZED_READ
from fuzzer.repro.short.numeric import numeric
from fuzzer.repro.short.runs import crash, determinism, idempotence, mutation, sequential
from fuzzer.repro.short.scene import Scene, Showing
from fuzzer.repro.short.structure import postcondition, roundtrip, well_formed
from oracles.core.verdict import NOT_AS_DOCUMENTED, Death, Evidence, Notation, Phase, Verdict
from oracles.gradient.oracle import KIND
from relaxkit.passes.contract import OracleName, plain_claim
from relaxkit.passes.contracts import CONTRACTS

if TYPE_CHECKING:
    from fuzzer.core.case import Case


@dataclass(frozen=True, slots=True)
class OracleForms:
    """The forms in which the failures of an oracle are shown.

    Attributes:
        long: Makes the check of the long form, or the step in which the process died.
        short: Yields what shows a failure in a scene of the short form, the best first.
        at_work: When a process dies in the oracle, in words behind ``crashes the process when``.
        source: What the expectation rests on.
        long_seconds: Time limit of the long form for a hang in it.  The slowest honest case seen took 3 s on a loaded
            machine.
        short_seconds: When an alarm ends a short script that does not end.
        sources: What it rests on where it is another thing, by the kind of the failure.
        origins: Where an expected number is from, by the kind of the failure.
    """

    long: Callable[[FailingCase], Check]
    short: Callable[[Scene], Iterator[Showing]]
    at_work: str = ""
    source: str = ""
    long_seconds: float = 10.0
    short_seconds: float = 20.0
    sources: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)


_TWICE = "a pass is a function of its module"

FORMS: dict[OracleName, OracleForms] = {
    OracleName.CRASH: OracleForms(build_crash, crash),
    OracleName.MUTATION: OracleForms(build_mutation, mutation, source="a pass returns a new module"),
    OracleName.DETERMINISM: OracleForms(
        build_determinism, determinism, "run a second time", _TWICE, short_seconds=60.0
    ),
    OracleName.SEQUENTIAL: OracleForms(
        build_sequential, sequential, "run inside Sequential", "Sequential runs its passes in order"
    ),
    OracleName.IDEMPOTENCE: OracleForms(build_idempotence, idempotence, "run on its own output"),
    OracleName.WELL_FORMED: OracleForms(
        build_well_formed,
        well_formed,
        "its output is checked for well-formedness",
        sources={"ill-formed": "TVM's checker, relax.analysis.well_formed"},
    ),
    OracleName.POSTCONDITION: OracleForms(build_postcondition, postcondition),
    OracleName.ROUNDTRIP: OracleForms(build_roundtrip, roundtrip, "its output is printed and parsed"),
    OracleName.LOCALITY: OracleForms(build_locality, locality, source=_TWICE),
    OracleName.ENVIRONMENT: OracleForms(build_environment, environment, source=_TWICE),
    OracleName.NUMERIC: OracleForms(
        build_numeric,
        numeric,
        "a program is built or run",
        long_seconds=40.0,  # plain relax.build, twice, compiles and links by the C++ compiler, some seconds each
        short_seconds=60.0,
        origins={
            KIND: "as differences of the function itself give",
            NOT_AS_DOCUMENTED: "as TVM documents the operator",
            UNINITIALIZED_READ: "as with something else in memory",
            "input-overwritten": "as the caller gave it",
        },
    ),
}
PIECES = (
    "relaxkit/passes/helpers.py",
    "fuzzer/repro/pieces/frame.py",
    "fuzzer/repro/pieces/death.py",
    "relaxkit/ir/functions.py",
    "relaxkit/ir/walk.py",
)
"""Files whose definitions every script may use."""
EXTERNAL_PIECES = tuple(
    f"relaxkit/runtime/{name}.py"
    for name in ("values", "compile/lowering", "compile/linking", "run", "external", "cuda_graph", "all_reduce")
)
"""Files with what ``with_codegen``, in the expression of a ``RunCodegen``, needs."""
_MEGABYTES = 3072  # the memory limit of a campaign's worker
_LINE = 500
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def forms_of(verdict: Verdict) -> OracleForms:
    """Return the forms for a failure: where the process died, those of the oracle at work."""
    details = verdict.shown.details
    return FORMS[verdict.oracle if details.death is None else details.oracle or OracleName.CRASH]


def check_of(case: Case, verdict: Verdict) -> Check:
    """Return the check that shows the failure of ``verdict`` on ``case``.

    Where the process died, the same step as in the oracle at work is taken inside a child process.
    """
    failure, forms, death = FailingCase(case, verdict), forms_of(verdict), verdict.shown.details.death
    check = forms.long(failure)
    if death is None:
        return check
    return replace(
        check,
        death=failure.evidence.kind,
        seconds=forms.long_seconds if death is Death.HANG else check.seconds,
        megabytes=_MEGABYTES if death is Death.MEMORY else 0,
    )


def words_of(verdict: Verdict, title: str) -> Words:
    """Tell a failing verdict to a maintainer who has never heard of oracles; raises ``ValueError`` for another."""
    evidence = verdict.evidence
    if evidence is None:
        raise ValueError("only a failing verdict can be told")
    expected, observed = _of_a_death(verdict) if evidence.is_death else _told(verdict, evidence)
    component = "TVMScript" if verdict.culprit == Notation.TVMSCRIPT.value else "Relax"
    return Words(title, one_line(expected), one_line(observed), component, evidence.message)


_ANSWER = "the pass returns without raising an exception"
_OF_RUNS = (OracleName.DETERMINISM, OracleName.SEQUENTIAL, OracleName.IDEMPOTENCE, OracleName.LOCALITY)


def _told(verdict: Verdict, evidence: Evidence) -> tuple[str, str]:
    """Say what was expected and what was seen."""
    oracle, kind, details, message = verdict.oracle, evidence.kind, evidence.details, evidence.message
    expected, observed = evidence.expected, seen_line(evidence) or message
    if oracle is OracleName.CRASH:
        # Where a user's pass raised is told with its lines, by whoever prints this.
        place = "" if details.raised_at else next(iter(evidence.frames), "")
        where = f" (at {place})" if place and not place.startswith("ir/transform.py:") else ""
        function = verdict.culprit in CONTRACTS and verdict.culprit[0].islower()  # as no pass is called
        expected = f"{verdict.culprit} returns" if function else _ANSWER
        observed = error_line(evidence) + where
    elif oracle is OracleName.WELL_FORMED and kind == "ill-formed":
        expected, observed = "a well-formed module", f"relax.analysis.well_formed raises: {message}"
    elif oracle is OracleName.WELL_FORMED:
        expected = expected or "the declared types still hold"
    elif oracle is OracleName.POSTCONDITION:
        expected = plain_claim(expected) + (f" ({details.source})" if details.source else "")
        observed = details.deed(verdict.culprit) if details.done else evidence.observed.replace("\n", "; ")
    elif oracle is OracleName.ROUNDTRIP or kind in ("does-not-build", "run-error"):
        expected = "every device is in the module's list" if kind == "unlisted-device" else expected
        observed = message
    elif oracle is OracleName.ENVIRONMENT:
        observed = message if kind == NOT_EQUAL else f"{details.circumstance}, {kind}: {details.error}".rstrip(" :")
    elif oracle in _OF_RUNS and kind not in (NOT_EQUAL, NOT_LOCAL, "ill-formed"):
        observed = error_line(evidence)
    return expected, observed


_DURING = {
    Phase.BUILD: " while building the program that the pass gives",
    Phase.BUILD_ORIGINAL: " while building the original program",
    Phase.RUN: " while running the compiled program",
    Phase.RUN_ORIGINAL: " while running the compiled original",
}


def _of_a_death(verdict: Verdict) -> tuple[str, str]:
    details = verdict.shown.details
    when = forms_of(verdict).at_work if details.oracle is not None else ""
    during = f" when {when}{f' ({details.step})' if details.step else ''}" if when else ""
    during = _DURING.get(details.stage, during) if when and details.stage else during
    expected = f"the process neither crashes nor hangs{during}" if during else _ANSWER
    ran = during or (f" while {verdict.culprit} was running" if details.oracle is not None else "")
    ends = {
        Death.HANG: "it does not end within the time limit",
        Death.MEMORY: "memory exhausted",
        Death.EXIT: f"the process exits ({verdict.shown.kind})",
    }
    return expected, f"{ends.get(details.death or Death.SIGNAL, f'the process died with {signal_of(verdict)}')}{ran}"


def signal_of(verdict: Verdict) -> str:
    """Name the signal that a process died of, if that has a name."""
    kind, names = verdict.shown.kind, {int(each): each.name for each in signal.Signals}
    code = verdict.shown.details.code
    return f"{kind} ({names[code]})" if code in names else kind


def one_line(text: str) -> str:
    """Put a text on one line, without addresses, of at most so many characters."""
    return cut(_ADDRESS.sub("0x...", " ".join(without_headers(plain(text)).split())), _LINE)
