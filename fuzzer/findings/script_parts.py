"""The parts of a finding's repro script: kept beside it, so that nobody reads them out of its source."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from fuzzer.core.case import Case
from oracles.core.verdict import Verdict

NAMES = re.compile(r"\b(?:f\d|(?:lv|gv)\d*)\b")
"""Names that generated modules have: sentences that have them were written about one module."""
_CODE = re.compile(
    r"`(return [^`]+)`|\b(?:R|relax(?:\.op)?|cls)((?:\.[a-z_]\w*)+)|\b(call_\w*packed|call_tir\w*|match_cast)\b"
    rf"|({NAMES.pattern})"
)
"""What sentences quote of a module: how it returns, an operator or a function that is called, a name."""

_CALLED = re.compile(
    r"\bR\.(?!(?:const|dataflow|dtype|func_attr|function|output|prim_value|shape|str|tuple)\b)[a-z][\w.]*(?=\()"
    r"|\bcls\.\w+|(?<![\w.])[a-z]\w*(?=\()|(?<![\w.])if\b"
)
"""What lines of a module call or define, or that they branch."""
_TAKEN_AWAY = frozenset({"another result", "drop bindings", "drop what is unused", "end functions earlier"})
"""Edits that take away what fails: behind them every module passes."""


@dataclass(frozen=True, slots=True)
class Words:
    """A failure in words, each one line.

    Attributes:
        title: What is wrong, beginning with the pass.
        expected: What should happen.
        observed: What happens instead.
        component: The part of TVM that it belongs to, as TVM's issues name it.
        message: The message that the script prints, of several lines perhaps; empty in scripts of earlier versions.
    """

    title: str
    expected: str
    observed: str
    component: str = "Relax"
    message: str = ""

    @property
    def headline(self) -> str:
        """The title of an issue."""
        return f"[Bug][{self.component}] {self.title}"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest module that passes, as an edit of the text of the one that fails.

    Attributes:
        what: What is different, for people: ``another operator``.
        edits: Pairs of text of the failing module, each there once, and of what stands in its place.
        failing: Edits of other modules that were tried, which fail in the same way.
    """

    what: str
    edits: tuple[tuple[str, str], ...]
    failing: tuple[tuple[tuple[str, str], ...], ...] = ()

    @property
    def tells(self) -> bool:
        """Say whether it tells what the failure hangs on: that nothing fails without what fails says nothing.

        All that a minimized module calls is needed; so an edit tells something only if the module still calls it.
        """
        calls = [Counter(_CALLED.findall("\n".join(side))) for side in zip(*self.edits, strict=True)]
        return self.what not in _TAKEN_AWAY and calls[0] <= calls[1]

    def applied(self, text: str) -> str:
        """Return the text of the module that passes."""
        for old, new in self.edits:
            text = text.replace(old, new)
        return text

    def of(self, text: str) -> bool:
        """Say whether it is an edit of this text."""
        for old, new in self.edits:
            if text.count(old) != 1:
                return False
            text = text.replace(old, new)
        return True

    def diff(self) -> str:
        """Write the edits as lines that go and lines that come, without what both sides begin and end with.

        No more is compared: how long ``difflib`` takes is up to who wrote them.
        """
        lines = []
        for edit in self.edits:
            sides = [text.splitlines() for text in edit]
            for _ in range(2):
                same = next((at for at, (a, b) in enumerate(zip(*sides, strict=False)) if a != b), min(map(len, sides)))
                sides = [side[same:][::-1] for side in sides]
            lines += [f"{sign} {line}" for sign, side in zip("-+", sides, strict=True) for line in side]
        return "\n".join(lines)


def without_source(errors: str) -> str:
    """Take the lines of the script out of a traceback: one may have a comment that quotes the message."""
    return re.sub(r"^(  File .*\n)(?:    .*\n)+", r"\1", errors, flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ending:
    """How the process of a short script ends while the defect is there.

    Attributes:
        error: Name of the exception's type; empty where any will do, a signal ends it, or any code but 0.
        words: Parts of its message.
        line: The line of the script that must not have been passed over, the first being 1.
        signal: The signal that ends it; 0 for none.
        gone: When it ends with 0.
    """

    error: str = ""
    words: tuple[str, ...] = ()
    line: int = 1
    signal: int = 0
    gone: str = "it is fixed"

    def fits(self, exit_code: int | None, output: str) -> bool:
        """Say whether a process that ended so, and said this, showed the defect."""
        if self.signal:
            return exit_code == -self.signal
        if exit_code in (0, None):
            return False
        if exit_code != 1:
            return not self.error and not self.words
        output = without_source(output)
        places = re.findall(r'^  File "[^<].*, line (\d+), in <module>$', output, re.MULTILINE)  # <str>: TVMScript
        told = re.search(rf"^(?:[\w.]+\.)?{re.escape(self.error)}(?::|$)", output, re.MULTILINE)
        reached = not places or int(places[-1]) >= self.line
        return reached and (told is not None or not self.error) and all(word in output for word in self.words)


@dataclass(frozen=True, slots=True)
class ScriptParts:
    """The parts of a script that people want to see.

    Attributes:
        module: The failing module: TVMScript, or Python that builds it; empty when the script has it as JSON only.
        python: Whether ``module`` is Python.
        words: What is wrong.
        nearest: The nearest module that passes, as an edit of the module's TVMScript.
        passing: The same as an edit of the short script, which ends with 0 after it.
        change: The lines of the short script's module that the pass changes, as a unified diff; of two runs that must
            agree, those that differ.
        ending: How the short script ends while the defect is there; ``None`` where the script is the long one.
        digest: Of the script's text, as the store has recorded it; empty before.
        other: The case that the script shows, and how it fails, where it is not the finding's minimized one.
    """

    module: str
    python: bool
    words: Words
    nearest: Nearest | None = None
    passing: Nearest | None = None
    change: str = ""
    ending: Ending | None = None
    digest: str = ""
    other: tuple[Case, Verdict] | None = None

    @property
    def near(self) -> Nearest | None:
        """The nearest module that passes, as an edit of this script's module, where that tells anything."""
        shown = self.nearest if self.ending is None else self.passing
        return shown if shown and shown.tells and (self.ending or shown.of(self.module)) else None

    def fits(self, sentences: str, code: re.Pattern[str] = _CODE) -> bool:
        """Say whether all calls and lines of code that sentences name stand in the module, or in what passes made."""
        named = {"".join(found) for found in code.findall(sentences)}
        return all(re.search(rf"{re.escape(each)}(?!\w)", self.module + self.change) for each in named)


@dataclass(frozen=True, slots=True)
class RenderedScript:
    """A repro script.

    Attributes:
        text: Its source.
        parts: What it is made of.
        why_long: Why it is the long form though the short one was wanted; empty where it is what was wanted.
    """

    text: str
    parts: ScriptParts
    why_long: str = ""


@dataclass(frozen=True, slots=True)
class ShortScript:
    """A short script: its source, how it ends while the defect is there, and the rest as in ``ScriptParts``."""

    text: str
    ending: Ending
    change: str = ""
    passing: Nearest | None = None


@dataclass(frozen=True, slots=True)
class ShortForms:
    """What can be written short of a failure.

    Attributes:
        scripts: The scripts that may show it, the best first.
        why: Why there is none, or none but these.
    """

    scripts: tuple[ShortScript, ...]
    why: str = ""
