"""A baseline: what a campaign measured, in a small file of JSON that is kept beside the policy.

It holds counts only, no modules and no messages, a line an oracle, so that its changes can be read in a review.
"""

from __future__ import annotations

import json
import re
from dataclasses import astuple, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from fuzzer.core.text import to_json
from fuzzer.core.verb import UsageError
from fuzzer.gate.measured import Cell, MeasuredCampaign, SeenFinding
from fuzzer.store.records import CampaignInfo
from relaxkit.files import read_text

FORMAT = "relaxfuzz-baseline-2"
_CELL = tuple(each.name for each in fields(Cell))
_FINDING = ("id", "oracle", "pass", "count", "suspect", "question", "family", "signature", "former")
_Counts = list[Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]]
_PLACE = re.compile(r" - at `\$\.?(.*)`$")
_MISSING = re.compile(r"Object missing required field `(.*?)`")
T = TypeVar("T")


class BaselineError(UsageError):
    """A baseline that cannot be read; the message is one line with the file and the place."""


class _Baseline(msgspec.Struct):
    """The file."""

    columns: list[str]
    campaign: CampaignInfo
    verdicts: dict[str, Any]
    triggers: dict[str, Any]
    findings: list[SeenFinding]
    directory: str = ""


def to_text(measured: MeasuredCampaign) -> str:
    """Write the file's text; the same campaign gives the same text."""
    verdicts: dict[str, dict[str, list[int]]] = {}
    for (oracle, culprit), cell in sorted(measured.cells.items()):
        verdicts.setdefault(oracle, {})[culprit] = list(astuple(cell))
    rows = [msgspec.to_builtins(each) for each in sorted(measured.seen, key=lambda each: each.id)]
    return _lines(
        {
            "format": FORMAT,
            "directory": measured.directory.absolute().name,
            "campaign": msgspec.to_builtins(measured.info),
            "columns": list(_CELL),
            "verdicts": verdicts,
            "triggers": {name: list(pair) for name, pair in sorted(measured.triggers.items())},
            "findings": [{key: row[key] for key in _FINDING} for row in rows],
        }
    )


def _lines(values: dict[str, Any]) -> str:
    """Write JSON with a line an entry of each table, so that a change of one is a change of one line."""
    parts = []
    for key, value in values.items():
        text = to_json(value)
        if value and isinstance(value, dict) and key != "campaign":
            rows = ",\n".join(f"  {to_json(name)}: {to_json(row)}" for name, row in value.items())
            text = f"{{\n{rows}\n }}"
        elif value and key == "findings":
            rows = ",\n".join(f"  {to_json(row)}" for row in value)
            text = f"[\n{rows}\n ]"
        parts.append(f" {to_json(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_baseline(path: Path) -> MeasuredCampaign:
    """Read a baseline; raises ``BaselineError``."""
    try:
        values = json.loads(read_text(path))
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # not JSON, or not UTF-8
        raise BaselineError(f"{path}: is not a baseline: not valid JSON ({error})") from error
    if not isinstance(values, dict) or "format" not in values:
        raise BaselineError(f"{path}: is not a baseline: it has no 'format'")
    if values["format"] != FORMAT:
        raise BaselineError(f"{path}: its format is {values['format']!r}, this version reads '{FORMAT}'")
    try:
        return _measured(_convert(values, _Baseline))
    except _Wrong as error:
        raise BaselineError(f"{path}: {error}") from error


def is_baseline(path: Path) -> bool:
    """Say whether a file is a baseline."""
    try:
        read_baseline(path)
    except BaselineError:
        return False
    return True


class _Wrong(Exception):
    pass


def _measured(kept: _Baseline) -> MeasuredCampaign:
    if kept.columns != list(_CELL):
        raise _Wrong(f"'columns' must be {', '.join(_CELL)}")
    cells = {}
    for oracle, rows in kept.verdicts.items():
        for culprit, row in _convert(rows, dict[str, Any], f"verdicts.{oracle}").items():
            cells[oracle, culprit] = Cell(*_counts(row, len(_CELL), f"verdicts.{oracle}.{culprit}"))
    triggers = {}
    for name, row in kept.triggers.items():
        judged, changed = _counts(row, 2, f"triggers.{name}")
        if changed > judged:
            raise _Wrong(f"'triggers.{name}' has more changed modules than judged ones")
        triggers[name] = (judged, changed)
    return MeasuredCampaign(kept.campaign, cells, triggers, kept.findings, directory=Path(kept.directory))


def _convert(value: Any, kind: type[T], at: str = "") -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        place, text = _PLACE.search(str(error)), _PLACE.sub("", str(error))
        missing = _MISSING.match(text)
        parts = (at, place[1] if place else "", missing[1] if missing else "")
        name = re.sub(r"\[(\d+)\]", lambda found: f".{int(found[1]) + 1}", ".".join(filter(None, parts)))
        raise _Wrong(f"'{name}' {'is missing' if missing else f'is invalid: {text}'}") from error


def _counts(row: Any, size: int, at: str) -> list[int]:
    try:
        counts: list[int] = msgspec.convert(row, Annotated[_Counts, msgspec.Meta(min_length=size, max_length=size)])
        return counts
    except msgspec.ValidationError as error:
        raise _Wrong(f"'{at}' must contain {size} counts") from error
