"""A baseline: what a campaign measured, in a small file of JSON that is kept beside the policy.

It holds counts only, no modules and no messages, a line an oracle, so that its changes can be read in a review.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fuzzer.gating.measured import Cell, Measured, Seen
from fuzzer.records import CampaignInfo

FORMAT = "relaxfuzz-baseline-2"
_FLAKY = "relaxfuzz-baseline-1"  # of before there were suspects: it says which findings were flaky
_CELL = ("passed", "failed", "skipped", "rejected", "invalid", "undecidable")
_INFO = {
    "seed": int, "started_at": str, "elapsed_seconds": float, "examples": int, "modules": int, "workers": int,
    "tvm_version": str, "ffi_version": str, "state": str, "budget_text": str,
}  # fmt: skip


class BaselineError(Exception):
    """A baseline that cannot be read; the message is one line with the file and the place."""


def to_text(measured: Measured) -> str:
    """The file's text; the same campaign gives the same text."""
    info = measured.info
    campaign = {name: getattr(info, name) for name in _INFO}
    campaign |= {"passes": list(info.passes), "oracles": list(info.oracles)}
    verdicts: dict[str, dict[str, list[int]]] = {}
    for (oracle, culprit), cell in sorted(measured.cells.items()):
        verdicts.setdefault(oracle, {})[culprit] = [getattr(cell, name) for name in _CELL]
    findings = [
        {"id": each.id, "oracle": each.oracle, "pass": each.culprit, "count": each.count, "suspect": each.suspect,
         "family": each.family, "signature": each.signature}
        for each in sorted(measured.seen, key=lambda each: each.id)
    ]  # fmt: skip
    return _lines(
        {
            "format": FORMAT,
            "campaign": campaign,
            "columns": list(_CELL),
            "verdicts": verdicts,
            "triggers": {name: list(pair) for name, pair in sorted(measured.triggers.items())},
            "findings": findings,
        }
    )


def _lines(values: dict[str, Any]) -> str:
    """JSON with a line an entry of each table, so that a change of one is a change of one line."""

    def flat(value: Any) -> str:
        return json.dumps(value, ensure_ascii=True)

    parts = []
    for key, value in values.items():
        if isinstance(value, dict) and key != "campaign":
            rows = ",\n".join(f"  {flat(name)}: {flat(row)}" for name, row in value.items())
            parts.append(f" {flat(key)}: {{\n{rows}\n }}" if rows else f" {flat(key)}: {{}}")
        elif isinstance(value, list) and key == "findings":
            rows = ",\n".join(f"  {flat(row)}" for row in value)
            parts.append(f" {flat(key)}: [\n{rows}\n ]" if rows else f" {flat(key)}: []")
        else:
            parts.append(f" {flat(key)}: {flat(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_baseline(path: Path) -> Measured:
    """Read a baseline; raises ``BaselineError``."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # not JSON, or not UTF-8
        raise BaselineError(f"{path}: is no baseline: {error}") from error
    if not isinstance(values, dict) or "format" not in values:
        raise BaselineError(f"{path}: is no baseline: it has no 'format'")
    if values["format"] not in (FORMAT, _FLAKY):
        raise BaselineError(f"{path}: its format is {values['format']!r}, this version reads '{FORMAT}'")
    try:
        return _measured(values)
    except _Wrong as error:
        raise BaselineError(f"{path}: {error}") from error


class _Wrong(Exception):
    pass


def _measured(values: dict[str, Any]) -> Measured:
    if values.get("columns") != list(_CELL):
        raise _Wrong(f"'columns' must be {', '.join(_CELL)}")
    cells = {}
    for oracle, rows in _typed(values, "verdicts", dict).items():
        for culprit in _typed(values["verdicts"], oracle, dict, "verdicts"):
            cells[oracle, culprit] = Cell(*_counts(rows[culprit], len(_CELL), f"verdicts.{oracle}.{culprit}"))
    triggers = {}
    for name, row in _typed(values, "triggers", dict).items():
        judged, changed = _counts(row, 2, f"triggers.{name}")
        if changed > judged:
            raise _Wrong(f"'triggers.{name}' has more changed modules than judged ones")
        triggers[name] = (judged, changed)
    return Measured(_info(_typed(values, "campaign", dict)), cells, triggers, _findings(values))


def _info(row: dict[str, Any]) -> CampaignInfo:
    known: dict[str, Any] = {name: _typed(row, name, kind, "campaign") for name, kind in _INFO.items()}
    for name in ("passes", "oracles"):
        names = _typed(row, name, list, "campaign")
        if not all(isinstance(each, str) for each in names):
            raise _Wrong(f"'campaign.{name}' must be a list of names")
        known[name] = tuple(names)
    return CampaignInfo(**known)


def _findings(values: dict[str, Any]) -> list[Seen]:
    found = []
    for number, row in enumerate(_typed(values, "findings", list), start=1):
        at = f"findings.{number}"
        if not isinstance(row, dict):
            raise _Wrong(f"'{at}' must be an object")
        count = _counts([row.get("count")], 1, at)[0]
        oracle, culprit = _typed(row, "oracle", str, at), _typed(row, "pass", str, at)
        texts = (_typed(row, "id", str, at), _typed(row, "signature", str, at))
        said = "flaky" if values["format"] == _FLAKY else "suspect"
        family, suspect = _typed(row, "family", str, at), _typed(row, said, bool, at)
        found.append(Seen(*texts, oracle, culprit, count, family, suspect))
    return found


def _typed(row: dict[str, Any], key: str, kind: type, where: str = "") -> Any:
    at = f"{where}.{key}" if where else key
    if key not in row:
        raise _Wrong(f"'{at}' is missing")
    value = row[key]
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise _Wrong(f"'{at}' has another type than it should")
    return value


def _counts(row: Any, size: int, at: str) -> list[int]:
    whole = isinstance(row, list) and len(row) == size
    if not whole or not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in row):
        raise _Wrong(f"'{at}' must hold {size} counts")
    return list(row)
