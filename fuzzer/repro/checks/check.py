"""The contribution of an oracle to a script: how it shows a failure, and how the failure is told to a maintainer.

The definitions that a script needs are copied into it by the names that it mentions: those of local variables count as
well, so what stands in such a file besides them has a name that nothing else has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import tvm

from fuzzer.core.case import load_module, subject_of
from fuzzer.core.text import first_line as line_of
from oracles.core.verdict import Death, Evidence
from relaxkit.compat.tables import VARYING

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from oracles.core.subject import Subject
    from oracles.core.verdict import Verdict

NOT_EQUAL = "not-equal"
REPEATS = 20  # true failures of determinism are random
_HANG_REPEATS = 2  # as many as the oracle's: many honest runs together must not look like a hang
_DEATH_SECONDS = 90.0
_ENOUGH = 40
"""Words of so many letters tell an error; fewer may stand in the message of another one as well."""

# A colon, too: what stands before one may have been put there by the oracle (the error's type, the operator).
_BREAKS = re.compile(
    rf'"[\w.]*"|# Metadata omitted.*to show it\.|{VARYING}'
    r"|0x[0-9a-f]+|\b[A-Za-z_]+\d+\b|\b[lg]v\b|\d+|[\"'`()\[\]{}<>]|\n|: "
)
PRINTED = re.compile(r"# from (?:tvm|typing)\b.*\n(?=[^\n]*\Z)", re.DOTALL)
"""A function that a message quotes in full: what is said of it stands behind its last line."""


@dataclass(frozen=True, slots=True)
class Check:
    """The oracle's part of a script.

    Attributes:
        call: Expression over ``module`` and ``passes`` that gives the outcome and a line of text.
        pieces: Files with the definitions that it needs besides those that every script may use.
        preamble: Definitions that stand in front of it.
        death: How the child process is expected to end; empty when nothing is risky.
        seconds: Time limit of the check in the child process; loading TVM and the module does not count.
        megabytes: Limit of the child process's address space; 0 for none.
    """

    call: str
    pieces: tuple[str, ...] = ()
    preamble: str = ""
    death: str = ""
    seconds: float = _DEATH_SECONDS
    megabytes: int = 0


ALONE = Check("('OK', str(type(run_passes(passes, module))))")
"""Of a process that died as the passes ran: they are run, and nothing is looked at."""


@dataclass(frozen=True)
class FailingCase:
    """A failing verdict on a case.

    Attributes:
        case: Module and passes.
        verdict: What is to be shown.
    """

    case: Case
    verdict: Verdict

    @property
    def module(self) -> tvm.IRModule:
        """The case's module: each time another copy, since a pass may write into what it is given."""
        return load_module(self.case)

    @cached_property
    def subject(self) -> Subject:
        """The subject, on a copy of the module: a pass may write into it."""
        return subject_of(self.case)

    @property
    def evidence(self) -> Evidence:
        """The evidence of the verdict."""
        return self.verdict.shown

    @property
    def died(self) -> bool:
        """Say whether the process died: then the oracle's step is taken again, whatever it would say."""
        return self.evidence.is_death

    @property
    def kind(self) -> str:
        """The class of the failure that the oracle is to look for."""
        return NOT_EQUAL if self.died else self.evidence.kind

    @property
    def error(self) -> str:
        """The type of the exception that is expected; empty for another module."""
        return "" if self.kind == NOT_EQUAL else self.kind

    @property
    def repeats(self) -> int:
        """Return how often a run is repeated before nothing is said to be wrong."""
        return _HANG_REPEATS if self.evidence.details.death is Death.HANG else REPEATS

    @cached_property
    def fragments(self) -> list[str]:
        """Distinctive parts of the message."""
        return [] if self.died else fragments(self.evidence.message)

    @cached_property
    def error_words(self) -> str:
        """Source of the list of words by which a script tells the exception."""
        return error_words(self.evidence, tvm.__version__) if self.error else "[]"


def error_line(evidence: Evidence) -> str:
    """Tell an exception: its type, and the first line of its message."""
    return f"{evidence.kind}: {line_of(evidence.message).rstrip(' :')}"


def seen_line(evidence: Evidence) -> str:
    """Return the first line of what was seen; of results that differ, both values and where."""
    if not evidence.details.numbers:
        return evidence.observed.partition("\n")[0]
    path, expected, seen, _ = evidence.details.numbers
    value, _, counted = seen.partition("; ")
    what = "argument" if evidence.kind == "input-overwritten" else "output"
    place = f"{what} {path.strip('[]').replace(', ', '.')}: " if path not in ("", "[]") else ""
    return f"{place}{value} instead of {expected}{f'; {counted}' if counted else ''}"


def fragments(message: str) -> list[str]:
    """Choose distinctive parts of a message: the longest runs of words of its first lines, no numbers or quoted names.

    Nor names that TVM gives (``lv``, ``lv4``): the script's module may number its variables anew, by other stems. Nor
    what another release of TVM words otherwise.
    """
    lines = [line for line in PRINTED.sub("\n", message.rstrip()).splitlines() if line.strip()][:3]
    runs = [run.strip(" .,:;=") for line in lines for run in _BREAKS.split(line)]
    longest = sorted({run for run in runs if run}, key=lambda run: (-len(run), run))
    return [run for run in longest if len(run) > 3][:2] or longest[:1]


def error_words(evidence: Evidence, release: str, message: str | None = None) -> str:
    """Write the list of words by which a script tells an exception.

    Where the message has few words, the function of TVM that raised it is asked for, too: in the release that it was
    seen in alone, since others have other files.

    Args:
        evidence: Of the exception.
        release: The release that it was seen in.
        message: Of the exception, where the evidence's message says more.
    """
    said = fragments(evidence.message if message is None else message)
    place = _raised_in(evidence)
    if not place or sum(map(len, said)) >= _ENOUGH:
        return repr(said)
    words = ", ".join(map(repr, (release, *place)))
    return f"[{', '.join([*map(repr, said), f'*raised_in({words})'])}]"


def _raised_in(evidence: Evidence) -> tuple[str, str] | None:
    """Return the file and the function that raised; ``None`` where that is not known, or is any pass's."""
    path, _, function = evidence.frames[0].partition(":") if evidence.frames else ("", "", "")
    name = re.search(r"\w+\Z", function)
    if name is None or name.group().startswith("__"):
        return None
    return PurePosixPath(path).name, name.group()
