"""A case in a file of its own: what ``relaxfuzz minimize`` saves, and takes again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.cases import Case

FORMAT = "relaxfuzz-case-1"


class CaseFileError(ValueError):
    """A file that holds no case; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A case, and what it shows.

    Attributes:
        case: The case.
        oracle: Name of the oracle that sees it fail; empty for the user's own criterion.
        id: Id of the signature, or what stands for the criterion.
        text: The signature in one line.
    """

    case: Case
    oracle: str
    id: str
    text: str


def write_case(path: Path, what: CaseFile) -> None:
    """Write a case, at once or not at all; raises ``OSError``."""
    from fuzzer.triage import write_atomically

    raw: dict[str, Any] = {"format": FORMAT, "oracle": what.oracle, "id": what.id, "signature": what.text}
    write_atomically(path, json.dumps({**raw, **json.loads(what.case.to_json())}))


def read_case(path: Path) -> CaseFile | None:
    """The case in a file; ``None`` when it is a file of another kind.

    Raises:
        CaseFileError: It cannot be read, or is damaged.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CaseFileError(f"'{path}' cannot be read: {said}") from error
    if FORMAT not in text[:100]:
        return None
    try:
        raw = json.loads(text)
        return CaseFile(Case.from_json(text), str(raw["oracle"]), str(raw["id"]), str(raw["signature"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CaseFileError(f"'{path}' is damaged: {' '.join(str(error).split())[:200]}") from error
