"""The parts of a message that tell a defect: the same for a smaller module, and in other releases of TVM."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from oracles.verdict import Evidence
from releases.messages import VARYING

_ENOUGH = 40
"""Words of so many letters tell an error; fewer may stand in the message of another one as well."""

# A colon, too: what stands before one may have been put there by the oracle (the error's type, the operator).
_BREAKS = re.compile(
    rf'"[\w.]*"|# Metadata omitted.*to show it\.|{VARYING}'
    r"|0x[0-9a-f]+|\b[A-Za-z_]+\d+\b|\b[lg]v\b|\d+|[\"'`()\[\]{}<>]|\n|: "
)
_PRINTED = re.compile(r"# from (?:tvm|typing)\b.*\n(?=[^\n]*\Z)", re.DOTALL)
"""A function that a message quotes in full: what is said of it stands behind its last line."""


def fragments(message: str) -> list[str]:
    """Distinctive parts of a message: the longest runs of words of its first lines, no numbers, no quoted names.

    Nor names that TVM gives (``lv``, ``lv4``): the script's module may number its variables anew, by other stems. Nor
    what another release of TVM words otherwise.
    """
    lines = [line for line in _PRINTED.sub("\n", message.rstrip()).splitlines() if line.strip()][:3]
    runs = [run.strip(" .,:;=") for line in lines for run in _BREAKS.split(line)]
    longest = sorted({run for run in runs if run}, key=lambda run: (-len(run), run))
    return [run for run in longest if len(run) > 3][:2] or longest[:1]


def error_words(evidence: Evidence, release: str, message: str | None = None) -> str:
    """Source of the list of words by which a script tells an exception.

    Where the message has few words, the function of TVM that raised it is asked for, too: in the release that it was
    seen in alone, since others have other files.

    Args:
        evidence: Of the exception.
        release: The release that it was seen in.
        message: What of the evidence's message is the exception's, where that is not all of it.
    """
    said = fragments(evidence.message if message is None else message)
    place = _place(evidence)
    if not place or sum(map(len, said)) >= _ENOUGH:
        return repr(said)
    words = ", ".join(map(repr, (release, *place)))
    return f"[{', '.join([*map(repr, said), f'*raised_in({words})'])}]"


def _place(evidence: Evidence) -> tuple[str, str] | None:
    """Name of the file and of the function that raised; ``None`` where that is not known, or is any pass's."""
    path, _, function = evidence.frames[0].partition(":") if evidence.frames else ("", "", "")
    name = re.search(r"\w+\Z", function)
    if name is None or name.group().startswith("__"):
        return None
    return PurePosixPath(path).name, name.group()
