"""Verdicts: what an oracle says of one subject, with the evidence behind it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from relaxkit.passes.contract import ALREADY_LOWERED, EvidenceClass, Harm, OracleName
from relaxkit.text_enum import TextEnum

UNCHANGED = "pass changed nothing"
"""The numeric oracle's reason not to execute a module that came out as it went in: it computes what it computed."""

NOT_APPLICABLE = frozenset(
    {UNCHANGED, "no postcondition", "locality is not promised", "pipelines promise no idempotence", ALREADY_LOWERED}
)
"""Reasons of skips where there was nothing to judge, and nothing went unjudged: the gate counts them on no side."""

NOTE = "note: "
"""What a note begins with where it is counted among the reasons."""

UNPROMISED = ("no postcondition", "locality is not promised", NOTE)
"""Beginnings of reasons that a pass gives oracles nothing to judge, whatever it does; nor then do :data:`UNUSABLE`."""

CUT_SHORT = "cut short: a known finding"
"""The reason of oracles that are not asked any more."""

UNFIT = ("a kernel of the input is ill-formed", "the input has a device that it does not list")
"""Reasons that a module is no input, though TVM's checker accepts it."""

UNUSABLE = frozenset(
    {"no output", "output is ill-formed", "input is ill-formed", "prepared module is ill-formed", CUT_SHORT, *UNFIT}
)

UNCOVERED = "no contract says whether that is allowed"
"""What the notes say that a contract of the user's would settle."""

_MOST_REASON = 200


def reason_of(text: str) -> str:
    """Return a message as a reason: one printable line of bounded length."""
    line = " ".join(text[: 10 * _MOST_REASON].split())
    shown = line if len(line) <= _MOST_REASON else f"{line[: _MOST_REASON - 3]}..."
    return "".join(each if each.isprintable() else "?" for each in shown)


NOT_ASKED = "omitted: only a share of the cases is checked"
"""The reason of what the shares of a campaign leave out."""

NOT_AS_DOCUMENTED = "not-as-documented"
"""The kind of the numeric oracle's evidence that an operator is lowered to something else than is documented."""


class Outcome(TextEnum):
    """The outcomes that an oracle can give.

    ``PASS`` and ``FAIL`` are judgements and make the pass rate.  ``SKIP``: the contract says
    that the oracle does not apply, or the comparison is not decidable.  ``REJECT``: the pass
    refused its input with a documented error.  ``INVALID``: our own harness was wrong.
    """

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"
    REJECT = "reject"
    INVALID = "invalid"


class Undecided(TextEnum):
    """A reason of the numeric oracle when a comparison was made and cannot be decided; other skips compared nothing."""

    PERTURBED_RAISES = "undecidable: perturbed run raises"
    ROUNDED_DECISION = "undecidable: decision downstream of rounding"
    NO_SMALL_ROUNDINGS = "not compared: float8 rounding errors are too large"
    BEYOND_FLOAT16 = "undecidable: outside the range of float16"
    ORIGINAL_AS_FAR = "undecidable: original is as far from float64"
    NO_DERIVATIVE = "undecidable: no derivative can be measured"
    NOTHING_TO_DIFFERENTIATE = "undecidable: nothing to differentiate"
    GRADIENT_OF_APPROXIMATION = "undecidable: gradient of an approximation"
    MISDECLARED = "undecidable: original returns another dtype than it declares"
    GRADIENT_OF_NOTHING = "undecidable: gradient of no elements"


class Agreement(TextEnum):
    """The ways in which the numeric oracle comes to say that results agree, the strongest first."""

    PROVED = "proved"  # for all inputs, by terms (docs/proof.md); one subject in some is executed all the same
    INTERPRETED = "interpreted"  # to the bit on drawn inputs, by the reference interpreter
    EXECUTED = "executed"  # on drawn inputs, within the promised tolerance, by CodeGenVM


UNDECIDED = frozenset(reason.value for reason in Undecided)


class Death(TextEnum):
    """The ways in which a process ends without an answer."""

    SIGNAL = "signal"
    HANG = "hang"
    MEMORY = "memory"
    EXIT = "exit"


class Phase(TextEnum):
    """A step of a judgement; the values stand in signatures of processes that died in it."""

    PREPARE = "prepare"
    FIRST_RUN = "first run"
    SECOND_RUN = "second run"
    SEQUENTIAL = "Sequential"
    BUILD_ORIGINAL = "build original"
    RUN_ORIGINAL = "run original"
    REPEAT_ORIGINAL = "repeat original"
    POISON_ORIGINAL = "poison original"
    PERTURB_ORIGINAL = "perturb original"
    INTERPRET = "interpret"
    SINGLE_CALL = "meaning of"
    INTERPRETATION = "interpretation"
    BUILD = "build"
    RUN = "run"


class Difference(TextEnum):
    """The parts of a type, the first of which differs counts."""

    TYPE = "no type"
    KIND = "another kind of value"
    FIELDS = "another number of fields"
    DTYPE = "another dtype"
    RANK = "another rank"
    SHAPE = "another shape"
    DEVICE = "another device"


SYMBOL = "a symbolic dim"
"""How ``Details.subject`` begins where it is one."""


class Notation(TextEnum):
    """A notation that a module can be written in; the culprit of what only it loses."""

    TVMSCRIPT = "TVMScript"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class Details:
    """The facts of a failure, each in a field of its own, so that nobody reads them back out of a sentence.

    Empty where an oracle has nothing to say of them.

    Attributes:
        oracle: The oracle at work when the process died; the verdict on that is the crash oracle's.
        stage: The step of the judgement.
        entry: The public function that was called, or the operator.
        variation: The value of the ``Variation`` of its inputs; what a module was varied by.
        mode: The value of the ``ExecMode`` in which the program was built or run; ``poisoned`` for run in bytecode, in
            memory full of a pattern.
        claim: The postcondition that does not hold.
        source: What establishes that the pass claims it.
        done: What the pass did instead, in words of the program: ``leaves a dataflow block in main``. Where a function
            that the pass calls did it, it begins with its name: ``relax.analysis.x omits y in main``.
        notation: The notation of a round trip.
        circumstance: The value of the ``Circumstance`` under which a pass ran.
        arguments: The expression that the pass at fault was built by.
        numbers: Where two values differ first, the expected one, what was observed, and the observed one alone.
        error: The message of an exception where the evidence's message says more.
        subject: What the message is about and does not say (``oracles.core.objection``); it tells signatures apart.
        operator: The operator that cannot be built, or that is computed or differentiated wrongly.
        death: How the process ended, where that is the failure.
        code: The signal or exit code of that.
        rests_on: The ground that the failure stands on, where its kind does not tell.
        lines: The lines of the frames, which belong to one release of TVM; none where nobody recorded them.
        functions: The functions of TVM that were running and whose files it does not tell, innermost first.
        raised_at: Where a user's pass raised, innermost last: ``FILE:LINE in FUNCTION: SOURCE``.
        place: The innermost of these: ``FILE:LINE``; of earlier versions without the directory.
        harm: The harm of the claim that does not hold.
    """

    oracle: OracleName | None = None
    stage: Phase | None = None
    entry: str = ""
    variation: str = ""
    mode: str = ""
    claim: str = ""
    source: str = ""
    done: str = ""
    notation: Notation | None = None
    circumstance: str = ""
    arguments: str = ""
    numbers: tuple[str, ...] = ()
    error: str = ""
    subject: str = ""
    operator: str = ""
    death: Death | None = None
    code: int = 0
    rests_on: EvidenceClass | None = None
    lines: tuple[int, ...] = ()
    functions: tuple[str, ...] = ()
    raised_at: tuple[str, ...] = ()
    place: str = ""
    harm: Harm | None = None

    @property
    def function(self) -> str:
        """The function of TVM that is said to have done it; empty where that is the pass."""
        return self.done.split(" ", 1)[0] if self.done.startswith("relax.") else ""

    def deed(self, judged: str) -> str:
        """Say who did what was done."""
        return self.done if self.function else f"{judged} {self.done}"

    @property
    def step(self) -> str:
        """The step of the judgement in words: ``run main bytecode``."""
        return " ".join(filter(None, (self.stage and self.stage.value, self.entry, self.mode)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """The observation behind a failure.

    Attributes:
        kind: Short, stable class of the failure: the exception's type name, or one of
            ``not-equal``, ``ill-formed``, ``mutated``, ``wrong-value``, ``signal 11``, ``hang``, ``memory``.
        message: The message as TVM gave it, not yet normalised (``fuzzer.findings.signature`` does that).
        frames: Innermost first, ``file:function`` of the frames inside TVM, no line numbers.
        expected: What the oracle expected, for people.
        observed: What it saw instead, for people.
        details: The facts of the failure, for programs.
    """

    kind: str
    message: str
    frames: tuple[str, ...] = ()
    expected: str = ""
    observed: str = ""
    details: Details = Details()

    @property
    def is_death(self) -> bool:
        """Say whether the process died, ended itself, hung or ran out of memory, which only its parent can see."""
        return self.details.death is not None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One oracle's judgement of one subject.

    Attributes:
        culprit: The pass that is judged; in a pipeline, the pass that is to blame.
        reason: Why it was skipped, rejected or invalid: a short phrase without names or numbers of
            the module, so that equal reasons can be counted; of a pass of the numeric oracle, the value of the
            ``Agreement`` that says how.  Else empty.
        evidence: Present exactly when the outcome is ``FAIL`` or ``INVALID``.
        note: Something to say of a user's pass that decides nothing; counted like a reason.
    """

    oracle: OracleName
    outcome: Outcome
    culprit: str
    reason: str = ""
    evidence: Evidence | None = None
    note: str = ""

    @property
    def shown(self) -> Evidence:
        """The evidence, of a verdict that has some."""
        assert self.evidence is not None
        return self.evidence


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """A note of what is about to be done and may kill the process, for the process that watches.

    Attributes:
        words: Oracle and step, for people and signatures: ``numeric run main bytecode``.
        culprit: The pass that runs, or is under judgement.
        details: Oracle, stage, function and mode.
    """

    words: str
    culprit: str = ""
    details: Details = Details()

    @classmethod
    def of(cls, details: Details, culprit: str) -> Breadcrumb:
        """Make the breadcrumb of a step."""
        return cls(" ".join(filter(None, (str(details.oracle or ""), details.step))), culprit, details)

    @property
    def title(self) -> str:
        """Words and culprit."""
        return f"{self.words}: {self.culprit}" if self.culprit else self.words

    @property
    def text(self) -> str:
        """The title, a tab, and the fields."""
        return f"{self.title}\t{msgspec.json.encode(self.details).decode()}"

    @classmethod
    def read(cls, text: str) -> Breadcrumb:
        """Read what :attr:`text` wrote, or a title alone."""
        title, _, fields_text = text.partition("\t")
        words, _, culprit = title.partition(": ")
        try:
            return cls(words, culprit, msgspec.json.decode(fields_text or "{}", type=Details))
        except msgspec.DecodeError:  # the page for it has room for so many bytes
            return cls(words, culprit)
