"""The parts of a message that tell a defect: the same for a smaller module, and in other releases of TVM."""

from __future__ import annotations

import re

from releases.messages import VARYING

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
