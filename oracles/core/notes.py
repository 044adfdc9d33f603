"""Notes that a user's pass does something no contract covers, and the line of contract that settles all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from oracles.core.verdict import UNCOVERED

STRICT = 'To make the gate fail until the contract covers this, set notes = "fail" in the policy.'
_FIELD = re.compile(r" \(in the contract of (\S+), (\w+)=(.*) allows it, (.*) forbids it\)$")
_DEED = re.compile(rf"The pass (.*), and {UNCOVERED}")
_SET = re.compile(r"frozenset\(\{(.*)\}\)")


def uncovered(said: str, name: str, allowing: str, forbidding: str) -> str:
    """Write a note on the pass ``name``, with the field of its contract that allows this, and that forbids it."""
    return f"{said}, and {UNCOVERED} (in the contract of {name}, {allowing} allows it, {forbidding} forbids it)"


def brief(note: str) -> str:
    """Return a note without the fields, which :func:`settling` puts together."""
    return _FIELD.sub(".", note)


def deed(note: str) -> str:
    """Return what a pass does of which a note speaks; empty where the note does not put it so."""
    found = _DEED.search(note)
    return found[1] if found else ""


def settling(notes: Iterable[str]) -> list[str]:
    """Write for each pass the one line of contract that allows all that its notes say, and what is to be done else."""
    allowing, forbidding = dict[str, dict[str, str]](), dict[str, dict[str, None]]()
    for name, field, value, forbids in (found.groups() for found in map(_FIELD.search, notes) if found):
        fields = allowing.setdefault(name, {})
        both = [_SET.fullmatch(each) for each in (fields.get(field, ""), value)]
        joined = [each[1] for each in both if each]  # sets of what a pass may change are added up
        fields[field] = f"frozenset({{{', '.join(joined)}}})" if len(joined) > 1 else value
        forbidding.setdefault(name, {})[forbids] = None
    lines = []
    for name, fields in allowing.items():
        given = ", ".join(f"{field}={value}" for field, value in fields.items())
        line = f'{name}.contract = replace(default_contract("{name}"), {given})'
        promise = f"To make the pass promise not to do this, write `{', '.join(forbidding[name])}` in that assignment"
        lines.append(f"To allow this, add: `{line}`. {promise} instead.")
    return [*lines, STRICT] if lines else []
