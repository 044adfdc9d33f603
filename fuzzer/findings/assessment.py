"""How much a finding weighs: what it rests on, how grave it is, and whom it blames.

The rules follow an independent judgement of eighty findings (docs/triage.md).  What a finding rests on, and the gravest
that its kind can be, follow from its evidence alone; what makes it less grave is found out by triage, which asks of the
minimized case (``fuzzer.triage.assess``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oracles.core.verdict import Death, Evidence, Verdict
from relaxkit.passes.contract import Circumstance, EvidenceClass, Harm, OracleName
from relaxkit.text_enum import TextEnum

__all__ = [
    "Assessment", "Blame", "Culprit", "EvidenceClass", "Rarity", "Severity", "assess", "evidence_class", "gravest",
    "provisional",
]  # fmt: skip


class Severity(TextEnum):
    """Classes of severity, the gravest first."""

    S1 = "S1"  # a silent wrong result, or a memory error, on an ordinary program with ordinary inputs
    S2 = "S2"  # the same, but only with special values, dims of 0 or float8, or behind rare constructs
    S3 = "S3"  # a crash, an ill-formed module, one that does not build, an edited input: on an ordinary program
    S4 = "S4"  # the same on a program of rare constructs, or in an order of passes that no shipped pipeline has
    S5 = "S5"  # round trips, environment, cosmetics

    def words(self, verdict: Verdict) -> str:
        """Say it, of a failure, to somebody who does not know the classes."""
        keys = (verdict.shown.details.death or verdict.shown.kind, verdict.oracle)
        said = _WORDS[self].format(next((_LOUD[each] for each in keys if each in _LOUD), "a crash"))
        cosmetic = self is Severity.S5 and verdict.oracle is OracleName.ROUNDTRIP
        return f"{said}: {_LOUD[OracleName.ROUNDTRIP]}" if cosmetic else said


_WORDS = {
    Severity.S1: "silently wrong results on ordinary inputs",
    Severity.S2: "silently wrong results on rare inputs or constructs",
    Severity.S3: "{}",
    Severity.S4: "{} that needs a rare construct or order of passes",
    Severity.S5: "a minor defect",
}
_LOUD: dict[str, str] = {
    Death.SIGNAL: "a crash", Death.EXIT: "a crash", Death.HANG: "a hang", Death.MEMORY: "exhausted memory",
    OracleName.MUTATION: "a modified input", OracleName.ROUNDTRIP: "a failed round trip",
    OracleName.POSTCONDITION: "a broken promise", "not-equal": "a result that varies",
    "ill-formed": "an ill-formed module", OracleName.WELL_FORMED: "a module with wrong types",
    "does-not-build": "a failed build", OracleName.NUMERIC: "a failed run",
}  # fmt: skip
"""What is seen where no result is silently wrong."""


class Rarity(TextEnum):
    """Things that ordinary programs do not have; a failure that needs one of them is less grave."""

    VALUES = "NaN, infinities, denormals or the greatest floats"
    EMPTY = "dims of 0"
    FLOAT8 = "float8"
    HINTS = "device hints after which no pipeline runs the pass"
    LOCAL_FUNCTIONS = "local functions"
    CLOSURES = "closures"
    RECURSION = "recursion"
    FORCED_PURITY = "forced purity"
    PUBLIC_CALLS = "a public function that is called by another; the pass changes its signature"
    NAMES = "a function whose name the pass also generates"
    ORDER = "an order of passes that no shipped pipeline has"

    @property
    def special(self) -> bool:
        """Say whether only what fails silently is less grave for it: what is of the data, or of where it lies."""
        return self in (Rarity.VALUES, Rarity.EMPTY, Rarity.FLOAT8, Rarity.HINTS)


class Culprit(TextEnum):
    """Parts of TVM that are no passes of Relax and may be at fault."""

    TYPE_INFERENCE = "type inference"
    BUILDER = "block builder"
    LOWERING = "lowering"
    LLVM = "LLVM code generator"
    MACHINE = "virtual machine"
    FLOAT8 = "float8 conversion of TIR"
    REDUCTIONS = "te.create_prim_func"
    MATCHER = "pattern matcher"
    PRINTER = "TVMScript printer"


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is at fault.

    Attributes:
        name: A pass, of Relax or TIR, or another part of TVM, which begins with the name of a ``Culprit``.
        reason: How that is known, where it is not the judged pass.
        silent: Whether what it does changes results, though only the form of a module was looked at.
    """

    name: str
    reason: str = ""
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Assessment:
    """The weight of a finding.

    Attributes:
        evidence: What it rests on; a finding that rests on a claim of ours, or that is debatable, is a question.
        severity: How grave it is.
        blame: The name of what is at fault: a pass, of Relax or TIR, or another part of TVM (``Culprit``).
        reason: Why it is no graver, or graver than it seems; empty where there is nothing to say.
        stock: Whether a default pipeline runs the judged pass.
        final: Whether triage has looked at the minimized case.
        grounds: How it is known that something else than the judged pass is at fault; empty where nothing is.
    """

    evidence: EvidenceClass
    severity: Severity
    blame: str
    reason: str = ""
    stock: bool = False
    final: bool = False
    grounds: str = ""

    @property
    def grade(self) -> str:
        """The severity as people read it: with a question mark until triage has looked."""
        return f"{self.severity}{'' if self.final else '?'}"

    @property
    def question(self) -> bool:
        """Say whether it is a question to the maintainers of TVM, and no finding."""
        return self.evidence in (EvidenceClass.OURS, EvidenceClass.DEBATABLE)

    def beside(self, judged: str) -> str:
        """Say who is at fault where it is not the judged pass, and why the finding is no graver; empty for neither."""
        at_fault = f"at fault: {self.blame}"
        return "; ".join(filter(None, (at_fault, self.why) if self.blame != judged else (self.reason,)))

    def told(self, verdict: Verdict) -> str:
        """Say how grave a failure is, and who is at fault, to somebody who does not know the classes."""
        grave = f"Severity: {self.severity}, {self.severity.words(verdict)}{'' if self.final else ' (estimated)'}"
        against = "" if self.evidence is EvidenceClass.HARD else self.evidence.words
        against = _against(verdict) if self.evidence is EvidenceClass.DOCUMENTED else against
        return "; ".join(filter(None, (grave, against, self.beside(verdict.culprit)))) + "."

    @property
    def why(self) -> str:
        """All that is said of the severity and of what is at fault."""
        return "; ".join(filter(None, (self.reason, self.grounds)))

    def to_object(self) -> dict[str, object]:
        """Give what ``--json`` prints of it."""
        return {
            "class": self.evidence.value, "severity": self.severity.value, "blame": self.blame,
            "severity_reason": self.why, "final": self.final,
        }  # fmt: skip


_SILENT = frozenset(
    {
        "wrong-value", "wrong-dtype", "wrong-shape", "wrong-structure", "wrong-gradient", "not-as-documented",
        "other-effects", "input-overwritten", "output-overwritten", "second-call-differs", "later-call-differs",
        "uninitialized-read",
    }
)  # fmt: skip
"""Kinds of evidence of which nobody is told when the program runs: the results are others."""
_COSMETIC = frozenset({OracleName.ROUNDTRIP, OracleName.ENVIRONMENT})
_OF_HARM = {Harm.WRONG: Severity.S1, Harm.BROKEN: Severity.S3, Harm.LESS: Severity.S5}
_DEMOTED = {Severity.S1: Severity.S2, Severity.S3: Severity.S4}
_AGAINST_DOCUMENTATION = frozenset(
    {"not-as-documented", "wrong-gradient", "mistyped-call", "contradicted-type", "signature"}
)
"""Kinds that contradict what TVM says of operators, of ``Gradient``, of the types of calls and of bindings, and of
public functions: those "externally exposed" are entry points, and passes change parameters of "internal functions"."""
_PROMISED = (OracleName.DETERMINISM, OracleName.IDEMPOTENCE, OracleName.ENVIRONMENT)
_DESCRIBED = {"not-as-documented": "operator", "wrong-gradient": "pass"}
"""Kinds that contradict a documentation which nobody quotes, and whose that is."""
_UNPROMISED = frozenset({"not-equal", "not-local", "healed"})
"""Kinds that differ from what an oracle expects of passes in general."""


def evidence_class(verdict: Verdict) -> EvidenceClass:
    """Return what a failure rests on; raises ``ValueError`` for a verdict without evidence."""
    if verdict.evidence is None:
        raise ValueError(f"a verdict that is {verdict.outcome} rests on nothing")
    if verdict.evidence.details.rests_on is not None:
        return verdict.evidence.details.rests_on
    kind = verdict.evidence.kind
    if _edited(verdict):
        return EvidenceClass.HARD
    if kind in _AGAINST_DOCUMENTATION or verdict.oracle in (OracleName.POSTCONDITION, OracleName.SEQUENTIAL):
        return EvidenceClass.DOCUMENTED
    return EvidenceClass.OURS if kind in _UNPROMISED else EvidenceClass.HARD


def gravest(verdict: Verdict) -> Severity:
    """Return the severity of a failure on an ordinary program with ordinary inputs; raises as above."""
    rests_on, evidence = evidence_class(verdict), verdict.shown
    if evidence.kind in _SILENT:
        return Severity.S1
    if evidence.is_death:
        return Severity.S3
    harm = evidence.details.harm
    cosmetic = verdict.oracle in _COSMETIC and harm is None and not _edited(verdict)
    if rests_on is EvidenceClass.OURS or cosmetic or raised_by_printer(evidence):
        return Severity.S5
    return _OF_HARM[harm or Harm.BROKEN]


def _against(verdict: Verdict) -> str:
    """Say what a documented failure contradicts: TVM's documentation only where that is quoted; no wrong results."""
    if verdict.shown.kind in _DESCRIBED:
        return f"not what the documentation of the {_DESCRIBED[verdict.shown.kind]} describes"
    source = verdict.shown.details.source
    if verdict.oracle in _PROMISED:  # of no pass of TVM's
        return "breaks its contract (the default one, unless the pass has its own)"
    if not source or '"' in source or "'" in source:
        return "" if evidence_class(verdict) is EvidenceClass.HARD else "contradicts what TVM documents"
    where = next((each for each in ("documentation", "header") if each in source), "")
    return f"breaks what its {where} describes" if where else "breaks what TVM's source code says or implies"


def _edited(verdict: Verdict) -> bool:
    """Say whether it shows that an input was edited: nothing else makes a difference to a context that forbids it."""
    return verdict.shown.details.circumstance == Circumstance.IMMUTABLE.value


def raised_by_printer(evidence: Evidence) -> bool:
    """Say whether the printer of TVMScript raised an error, which does nothing but print."""
    return any("/script/printer/" in frame for frame in evidence.frames)


def assess(verdict: Verdict, rare: Sequence[Rarity], blame: Blame, stock: bool) -> Assessment:
    """Return the assessment of a failure that triage has looked at; raises as above.

    Args:
        verdict: The failure.
        rare: Rare things that it needs.
        blame: Who is at fault.
        stock: Whether a default pipeline runs the judged pass.
    """
    severity, evidence = gravest(verdict), verdict.shown
    silent, alone = severity is Severity.S1, evidence.kind == "not-as-documented"  # what a call shows needs no program
    telling = [each for each in rare if (silent and each.special) or not (alone or each.special)]
    if evidence.details.death is Death.SIGNAL:  # a process that dies is grave on any program that ends
        telling = [each for each in telling if each is Rarity.RECURSION]
    why = ""
    if telling and severity in _DEMOTED:
        severity, why = _DEMOTED[severity], f"needs {' and '.join(map(str, telling))}"
    return Assessment(evidence_class(verdict), severity, blame.name, why, stock, final=True, grounds=blame.reason)


def provisional(verdict: Verdict) -> Assessment:
    """Return the assessment of a failure that triage has not looked at: by its evidence alone; raises as above."""
    return Assessment(evidence_class(verdict), gravest(verdict), verdict.culprit)
