"""A failure in words for a maintainer who has never heard of oracles: a title, what was expected, what was seen."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.plaintext import first_line
from oracles.roundtrip import NOTATIONS, TVMSCRIPT
from oracles.verdict import NOT_AS_DOCUMENTED, Evidence, OracleName

if TYPE_CHECKING:
    from oracles.verdict import Verdict

_TITLE, _LINE = 140, 300
_ANSWER = "a module, or an error that says what is wrong with the input"
_STAGES = {
    OracleName.IDEMPOTENCE.value: "run on its own output",
    OracleName.DETERMINISM.value: "run a second time",
    OracleName.SEQUENTIAL.value: "run inside Sequential",
    OracleName.WELL_FORMED.value: "its output is checked for well-formedness",
    OracleName.ROUNDTRIP.value: "its output is printed and parsed",
}
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


@dataclass(frozen=True, slots=True)
class Words:
    """A failure in words, each one line.

    Attributes:
        title: What is wrong, beginning with the pass.
        expected: What should happen.
        observed: What happens instead.
        component: The part of TVM that it belongs to, as TVM's issues name it.
    """

    title: str
    expected: str
    observed: str
    component: str = "Relax"

    @property
    def headline(self) -> str:
        """The title of an issue."""
        return f"[Bug][{self.component}] {self.title}"


def words_of(verdict: Verdict) -> Words:
    """The words for a failing verdict; raises ``ValueError`` for another."""
    evidence = verdict.evidence
    if evidence is None:
        raise ValueError("only a failing verdict can be told")
    title, expected, observed = _told(verdict.oracle, verdict.culprit, evidence)
    component = "TVMScript" if verdict.culprit == TVMSCRIPT else "Relax"
    return Words(_line(title, _TITLE), _line(expected), _line(observed), component)


def _told(oracle: OracleName, culprit: str, evidence: Evidence) -> tuple[str, str, str]:
    kind, message = evidence.kind, evidence.message
    if kind in ("hang", "memory") or kind.startswith(("signal ", "exit ")):
        return _death(culprit, evidence)
    error = f"{kind}: {first_line(message).rstrip(' :')}"
    where = f" (at {evidence.frames[0]})" if evidence.frames else ""
    seen = evidence.observed.partition("\n")[0]
    if oracle is OracleName.CRASH:
        return f"{culprit} fails: {error}", _ANSWER, error + where
    if oracle is OracleName.MUTATION:
        return f"{culprit} modifies its input module", evidence.expected, seen or message
    if oracle is OracleName.NUMERIC:
        return _numeric(culprit, evidence)
    if oracle is OracleName.WELL_FORMED:
        if kind == "ill-formed":
            return f"{culprit} gives an ill-formed module: {message}", "a well-formed module", message
        return f"{culprit}: {message}", evidence.expected or "the declared types still hold", seen or message
    if oracle is OracleName.POSTCONDITION:
        return (
            f"{culprit}: {message.partition(': ')[2] or message}",
            evidence.expected,
            evidence.observed.replace("\n", "; "),
        )
    if kind == "unlisted-device":
        return f"{culprit}: {message}", "every device is in the module's list", message
    if oracle is OracleName.ROUNDTRIP:
        what = "A module" if culprit in NOTATIONS else f"The output of {culprit}"
        return f"{what} does not come back from {_notation(evidence)}: {message}", evidence.expected, message
    if oracle is OracleName.LOCALITY:
        title = f"What {culprit} does to a function depends on an unrelated one"
        return title, evidence.expected, seen if kind == "not-local" else f"{error} ({seen})"
    if oracle is OracleName.IDEMPOTENCE:
        again = {"not-equal": "changes", "ill-formed": "breaks"}.get(kind, "fails on")
        told = f": {error}" if again == "fails on" else ""
        return (
            f"{culprit} {again} its own output when run again{told}",
            evidence.expected,
            _other(kind, error, seen, message),
        )
    if oracle is OracleName.ENVIRONMENT:
        how, _, said = message.partition(": ")
        how = how.rstrip(":").removeprefix("another module ")
        what = "gives another module" if kind == "not-equal" else f"raises {kind}"
        seen = message if kind == "not-equal" else f"{how}, {kind}: {said}".rstrip(" :")
        return f"{culprit} {what} {how}", evidence.expected, seen
    again = {
        OracleName.DETERMINISM: "gives other modules for the same input",
        OracleName.SEQUENTIAL: "inside Sequential does not do what a direct call does",
    }.get(oracle, message)
    return f"{culprit} {again}", evidence.expected, _other(kind, error, seen, message)


def _other(kind: str, error: str, seen: str, message: str) -> str:
    """What a further run gave: an error, or another module and where it differs first."""
    if kind in ("not-equal", "ill-formed"):
        return f"{message}; {seen}" if seen and seen != message else message
    return error


def _numeric(culprit: str, evidence: Evidence) -> tuple[str, str, str]:
    kind = evidence.kind
    if kind == "does-not-build":
        return f"A module does not build after {culprit}: {evidence.message}", evidence.expected, evidence.message
    if kind == "run-error":
        return f"A program fails when run after {culprit}: {evidence.message}", evidence.expected, evidence.message
    if kind == NOT_AS_DOCUMENTED:
        return f"{evidence.message}, lowered by {culprit}", evidence.expected, evidence.observed
    what = {
        "wrong-gradient": "returns a wrong gradient",
        "other-effects": "changes what a program prints",
        "input-overwritten": "makes a program overwrite its inputs",
        "output-overwritten": "makes a program overwrite an earlier result",
        "uninitialized-read": "makes a program read memory that nothing has written",
        "second-call-differs": "makes a program give another result when called again",
        "later-call-differs": "makes a program give another result when called again",
        "wrong-shape": "changes the shape of a result",
        "wrong-dtype": "changes the dtype of a result",
        "wrong-structure": "changes the structure of a result",
    }.get(kind, "changes the result of a program")
    return f"{culprit} {what}", evidence.expected, f"{evidence.observed or evidence.message}"


def _death(culprit: str, evidence: Evidence) -> tuple[str, str, str]:
    kind = evidence.kind
    stage = re.search(r"during ([\w-]+)(?: (.*))?", evidence.message)
    during = ""
    if stage is not None:
        name, step = stage.group(1), (stage.group(2) or "").strip()
        if name == OracleName.NUMERIC.value:
            during = f" when a program is built or run ({step})" if step else " when a program is built or run"
        elif name in _STAGES:
            during = f" when {_STAGES[name]}"
    if kind == "hang":
        return f"{culprit} does not end{during}", _ANSWER, "no end within the time limit"
    if kind == "memory":
        return f"{culprit} exhausts the memory{during}", _ANSWER, "memory exhausted"
    how = f"is ended by {_signal(kind)}" if kind.startswith("signal") else f"ends itself by {kind}"
    return f"{culprit} crashes the process{during}: {_signal(kind)}", _ANSWER, f"the process {how}"


def _signal(kind: str) -> str:
    """``signal 11 (SIGSEGV)``."""
    number = kind.removeprefix("signal ")
    try:
        return f"{kind} ({signal.Signals(int(number)).name})" if kind.startswith("signal ") else kind
    except ValueError:
        return kind


def _notation(evidence: Evidence) -> str:
    return evidence.expected.rpartition(" ")[2] or "TVMScript"


def _line(text: str, most: int = _LINE) -> str:
    """One line without addresses, of at most so many characters."""
    line = _ADDRESS.sub("0x...", " ".join(text.split()))
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."
