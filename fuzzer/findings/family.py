"""Families: findings that look like one cause, whatever the oracle, the pass and the words it came to light with.

A signature is exact: two failures that share one are the same as far as their evidence goes, and it splits a cause that
shows in several ways.  A family is the coarser level above it.  Both are shown together, so that neither level hides
anything; people merge and split families by hand where the rule is wrong (``fuzzer.findings.file``).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from fuzzer.findings.signature import normalise, signature
from fuzzer.findings.symptom import DIM, FEWER_DIMS, LEFT, UNBUILT, Symptom, symptom_of
from oracles.core.verdict import Verdict
from relaxkit.text_enum import TextEnum


class Edit(TextEnum):
    """A change of a module."""

    NAMES = "names"  # each function gets another name, and keeps how it ends: some passes look for an ending
    NUMBERS = "numbers"  # each symbolic dim is a number


MARK = "F"
"""What the id of a family begins with; ids of signatures are hexadecimal digits."""
_DIGITS = 9
_BUILD = "build:"
_NAME = re.compile(r"[\w.]+")  # of a pass or a function; other parts of TVM have descriptions
_OF_AN_OPERATOR = re.compile(r"^(?:type inference|lowering) of |\(its F\w+\)$")  # of a ``Blame``


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The ingredients of a minimized module, without shapes, dtypes, names and numbers.

    Attributes:
        operators: Operators, ``matmul``.
        constructs: What else there is, by the names of ``strategies.detect.profile.Profile.parts``.
    """

    operators: tuple[str, ...] = ()
    constructs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traits:
    """The facts that are known of a finding once it is minimized.

    Attributes:
        culprit: The most elementary pass at which it shows (``fuzzer.triage.traits``), or what is to blame
            (``placed``); empty when nobody looked.
        skeleton: Of the minimized module.
        gone: Edits with which the failure goes away (``fuzzer.triage.traits``).
        disputed: Whether campaigns, some from elsewhere, put it into different families (``fuzzer.store.merge``).
    """

    culprit: str = ""
    skeleton: Skeleton = Skeleton()
    gone: frozenset[Edit] = frozenset()
    disputed: bool = False


UNKNOWN = Traits()


@dataclass(frozen=True, slots=True)
class Family:
    """Identity of a cause, as far as a rule can tell it.

    Attributes:
        place: The pass, or the function of TVM, where the failure shows first.
        core: What is wrong (``fuzzer.findings.symptom.Symptom.core``).
        constructs: Of the minimized module, where the symptom says nothing of the cause.  Operators are no part of it:
            for most causes one is as good as another, and the next campaign's module has another one.
        final: Whether nothing that minimization finds out can change it.
    """

    place: str
    core: str
    constructs: tuple[str, ...] = ()
    final: bool = True

    @property
    def text(self) -> str:
        """The family as one line."""
        parts = f" with {', '.join(self.constructs)}" if self.constructs else ""
        return f"{self.place}: {self.core}{parts}"

    @property
    def id(self) -> str:
        """``F`` and nine hexadecimal digits that stand for the family."""
        return MARK + hashlib.sha256(self.text.encode()).hexdigest()[:_DIGITS]


def family(verdict: Verdict, origin: Traits = UNKNOWN) -> Family:
    """Return the family of a verdict that failed; raises ``ValueError`` for one without evidence."""
    if origin.disputed:  # a list that names a family excuses none of whose family nobody can be sure
        return Family(verdict.culprit, f"campaigns disagree on the family of {signature(verdict).id}", final=False)
    symptom = symptom_of_verdict(verdict)
    culprit = origin.culprit or verdict.culprit
    core = symptom.core
    if _OF_AN_OPERATOR.search(culprit):  # whichever pass calls it, and whatever memory it meets
        return Family(culprit, "the process dies" if symptom.dead else core)
    if culprit.startswith(_BUILD):
        # Each operator that a build leaves behind is a defect of its own; a pass lost what legalization needs of it.
        culprit = "build"
        core = normalise(verdict.evidence.message) if verdict.evidence and symptom.laddered else core
    if Edit.NAMES in origin.gone:
        core = "a name that it gives is taken"  # ids of families are made of these words: they stay
    elif symptom.refused and Edit.NUMBERS in origin.gone:
        core = DIM
    elif "if" in origin.skeleton.constructs and symptom.core in (LEFT, FEWER_DIMS):
        return Family("If", "what it gives has lost its shape")  # whoever rebuilds it
    constructs = origin.skeleton.constructs if symptom.mute else ()
    final = not (symptom.mute or symptom.laddered) or bool(origin.culprit)
    return Family(symptom.place or culprit, core, constructs, final)


def placed(traits: Traits, verdict: Verdict, blame: str) -> Traits:
    """Return the traits with what is to blame: a pass, a function, or an operator's function that fails without words.

    A program that a later pass refuses stays with the pass that made it: several may make what that one refuses.
    """
    symptom = symptom_of_verdict(verdict)
    wordless = symptom.mute and symptom.laddered and _OF_AN_OPERATOR.search(blame)
    named = verdict.shown.kind not in UNBUILT and _NAME.fullmatch(blame)
    return replace(traits, culprit=blame) if wordless or named else traits


def symptom_of_verdict(verdict: Verdict) -> Symptom:
    """Return the symptom of a verdict that failed; raises ``ValueError`` for one without evidence."""
    if verdict.evidence is None:
        raise ValueError(f"a verdict that is {verdict.outcome} has no symptom")
    return symptom_of(verdict.oracle, verdict.evidence, normalise(verdict.evidence.message))
