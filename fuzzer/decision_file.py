"""Writing decisions on families: an entry is added at the end, and what stands there already stays as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from fuzzer.decisions import FAMILY_ID, FINDING_ID, Decision, parse_decisions
from fuzzer.tomlfile import parse_toml, read_toml

_HEAD = """\
# Decisions by hand on families of findings: docs/triage.md. Reviewed like code; `relaxfuzz triage` adds entries.
"""


class DecisionError(ValueError):
    """A decision that cannot be added; the message is one line for the user."""


def add_merge(path: Path, ids: Sequence[str], reason: str) -> Decision:
    """Let findings and families join the family that is named first.

    Raises:
        DecisionError: They cannot, or the file cannot be written.
        fuzzer.tomlfile.TomlError: The file is wrong, or would be.
    """
    if len(ids) < 2:
        raise DecisionError("merge needs a family and what is to join it")
    if not FAMILY_ID.fullmatch(ids[0]):
        raise DecisionError(f"'{ids[0]}' is not the id of a family: F and nine hex digits")
    _check(ids[1:], families=True)
    return _add(path, f"[[merge]]\ninto = {_text(ids[0])}\nids = {_list(ids[1:])}\nreason = {_text(reason)}\n")


def add_split(path: Path, ids: Sequence[str], reason: str) -> Decision:
    """Make findings a family of their own; raises as :func:`add_merge` does."""
    if not ids:
        raise DecisionError("split needs the ids of findings")
    _check(ids, families=False)
    return _add(path, f"[[split]]\nids = {_list(ids)}\nreason = {_text(reason)}\n")


def _check(ids: Sequence[str], families: bool) -> None:
    for name in ids:
        if not FINDING_ID.fullmatch(name) and not (families and FAMILY_ID.fullmatch(name)):
            what = "a finding or of a family" if families else "a finding (families cannot be split, findings can)"
            raise DecisionError(f"'{name}' is not the id of {what}")


def _add(path: Path, entry: str) -> Decision:
    before = read_toml(path).text if path.exists() else _HEAD
    text = f"{before.rstrip()}\n\n{entry}"
    decisions = parse_decisions(parse_toml(path, text))
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise DecisionError(f"cannot write '{path}': {error.strerror or error}") from error
    split = entry.startswith("[[split]]")
    return [each for each in decisions.entries if each.split is split][-1]


def _text(value: str) -> str:
    if not value.isprintable():
        raise DecisionError("the reason must be one line of printable text")
    return json.dumps(value, ensure_ascii=False)  # of printable text, a string of JSON is one of TOML


def _list(ids: Sequence[str]) -> str:
    return f"[{', '.join(_text(name) for name in ids)}]"
