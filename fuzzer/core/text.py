"""Foreign text, such as a message that quotes a module, made fit for a terminal."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from relaxkit.text_enum import TextEnum

_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|##(?=\w*\[)", re.MULTILINE)
"""The beginning of what a runner of continuous integration takes for a command, wherever it reads it in a log:
``::error``, ``##[error]``, ``##vso[task.complete]``, ``##teamcity[...]``.  No line end before it is read, lest of many
empty lines each be a beginning that reads all the others."""
_NODE = re.compile(
    r'\bir\.Op\((?:(?!\bir\.Op\()[^\n])*?name="([\w.]+)"(?:(?:(?!\bir\.Op\().)*?support_level=\d+\)|[^\n]*)', re.DOTALL
)
"""What a node of an operator prints as; it ends where the next begins, lest a long text be read again for each."""
_HEADER = re.compile(r"(?:# from tvm[\w.]* import [^\n]*\s+)+")
"""What TVMScript begins with, also where a message quotes a module."""
MOST_LINE = 2_000
"""Characters of a line of somebody else's."""


def visible(text: str) -> str:
    """Show every control character, escapes and marks of direction first of all, as ``?``; line ends and tabs stay."""
    shown = plain(text)
    return shown.translate({ord(each): "?" for each in set(shown) if not (each.isprintable() or each in "\n\t")})


def plain(text: str) -> str:
    """The text with the names of operators in the place of what TVM's nodes print as, also where that is cut off."""
    return _NODE.sub(r"\1", text)


def without_headers(text: str) -> str:
    """The text without the imports that TVM writes above a module or a function that it quotes."""
    return _HEADER.sub("", text)


def visible_all(value: Any) -> Any:
    """Do so with every text in a value of JSON."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(key): visible_all(each) for key, each in value.items()}
    return [visible_all(each) for each in value] if isinstance(value, (list, tuple)) else value


def printable(text: str) -> str:
    """The text as :func:`visible` shows it, for a terminal or a log: with no command for who reads the log."""
    return disarmed(visible(text.replace("\t", "?")))


def disarmed(text: str) -> str:
    """The text without a command for who reads the log."""
    return _COMMAND.sub(lambda found: f"{found[1]}: " if found[1] is not None else "## ", text)


def to_json(value: object, **options: Any) -> str:
    """The value as JSON without a command for who reads the log, wherever in a line that stands."""
    return json.dumps(value, **options).replace("##", "#\\u0023")


def quoted_path(path: Path | str) -> str:
    """The name of a file as a word of a command, never one of its options."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def shell(program: str) -> str:
    """Return how this shell starts a program that lies beside this Python: by its path, unless ``PATH`` leads there."""
    own = Path(sys.executable).with_name(program)
    found = shutil.which(program)
    if not own.is_file() or (found is not None and Path(found).parent.samefile(own.parent)):
        return program
    return quoted_path(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own)


def first_line(text: str, fallback: str = "") -> str:
    """The first line that says something, printable, and no longer than a line should be."""
    said = next((line.strip() for line in text.splitlines() if line.strip()), fallback)
    return printable(shorten(said, MOST_LINE))


def first_lines(lines: Sequence[str], most: int, sign: str = "") -> list[str]:
    """At most so many lines, of which the last one says, behind a sign, how many are left out: never one alone."""
    left = len(lines) - most + 1
    return [*lines] if left <= 1 else [*lines[: most - 1], f"{sign}... {left} more lines"]


def cut(text: str, most: int) -> str:
    """At most so many characters of a line: whole sentences, else whole words and dots, and no open bracket."""
    if len(text) <= most:
        return text
    head = _whole_words(text[: most - 3])
    if (end := max(head.rfind(mark) for mark in (". ", "; "))) > most // 2:
        return head[:end]
    while head.count("(") > head.count(")") and head.rfind("(") > most // 2:
        head = head[: head.rfind("(")]
    return head.rstrip(" ,:;") + "..."


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters, the cut marked with dots, and behind a word."""
    return text if len(text) <= width else _whole_words(text[: width - 3]) + "..."


def _whole_words(head: str) -> str:
    """Drop the word that a cut leaves unfinished, unless that is half of all."""
    whole = head.rpartition(" ")[0]
    return whole if 2 * len(whole) > len(head) else head


# Findings told apart from questions and suspects, and numbers of things in words.


class Standing(TextEnum):
    """What a signature that was seen stands as; only findings are counted as such."""

    FINDING = "finding"
    QUESTION = "question"  # it rests on a claim of ours (``fuzzer.findings.assessment``)
    SUSPECT = "suspect"  # no script of its own proves it (``fuzzer.store.records.SUSPECTS``)


WHAT_THEY_ARE = {
    Standing.QUESTION: "failures that break no documented promise; not counted as findings",
    Standing.SUSPECT: "flaky, or not reproduced by a script; not counted as findings",
}
"""What people are told where these are listed."""


class _HasStanding(Protocol):
    @property
    def standing(self) -> Standing: ...


_AnySeen = TypeVar("_AnySeen", bound=_HasStanding)


def by_standing(seen: Iterable[_AnySeen]) -> dict[Standing, list[_AnySeen]]:
    """Findings, questions and suspects, each in the order in which they were given."""
    parts: dict[Standing, list[_AnySeen]] = {standing: [] for standing in Standing}
    for each in seen:
        parts[each.standing].append(each)
    return parts


def headline(seen: Iterable[_HasStanding]) -> str:
    """``12 findings, 2 questions, 3 suspects``; of what there is none of, findings alone are told."""
    parts = by_standing(seen).items()
    return ", ".join(
        counted(len(part), standing.value) for standing, part in parts if part or standing is Standing.FINDING
    )


def times(number: int) -> str:
    """``once``, ``2 times``."""
    return "once" if number == 1 else f"{number} times"


def enumerated(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def counted(number: int, noun: str) -> str:
    """``1 finding``, ``2 findings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
