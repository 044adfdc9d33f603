"""What TVM's own documentation says of an operator, in one sentence."""

from __future__ import annotations

from typing import Any

from tvm import relax

LONGEST = 200


def documentation(operator: str) -> str:
    """The first paragraph of the docstring of the operator's function; empty where there is none.

    Args:
        operator: Its name in TVM's registry, for instance ``relax.nn.conv2d``.
    """
    found: Any = relax.op
    for part in operator.removeprefix("relax.").split("."):
        found = getattr(found, part, None)
    text = (getattr(found, "__doc__", None) or "") if callable(found) else ""
    lines = []
    for line in text.strip().splitlines():
        if not line.strip():
            break
        lines.append(line.strip())
    said = " ".join(lines)
    return said if len(said) <= LONGEST else f"{said[:LONGEST].rsplit(' ', 1)[0]} ..."
