"""A failure as the run of its short script shows it, which has names and a tolerance of its own."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from fuzzer.core.text import plain
from fuzzer.findings.script_parts import without_source
from fuzzer.repro.run import ReproResult
from oracles.core.verdict import Evidence, Verdict

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_LOGGED = re.compile(r"^\[\d\d:\d\d:\d\d\] .*\n?", re.MULTILINE)
_ENOUGH = 100  # characters of a message
_COUNT = re.compile(r"^Mismatched elements: (\d+) / (\d+)", re.MULTILINE)
_PLACE = re.compile(r"^ (\[[\d, ]+\]): (\S+) \(ACTUAL\), (\S+) \(DESIRED\)$", re.MULTILINE)
_SCALARS = re.compile(r"^ (?:ACTUAL|x): array\(([^\s\[(),]+).*\n (?:DESIRED|y): array\(([^\s\[(),]+)", re.MULTILINE)
"""What NumPy says of arrays that differ; at which places, since 2.4."""


def as_seen(verdict: Verdict, result: ReproResult) -> Verdict:
    """Return a failing verdict with what the script that shows it printed in the place of what was seen before."""
    evidence = verdict.shown
    old = evidence.details.numbers
    if old and (count := _COUNT.search(result.errors)) and (new := _numbers(old, count)) != old:
        due, details = evidence.expected.replace(old[1], new[1]), replace(evidence.details, numbers=new)
        evidence = replace(evidence, expected=due, observed=new[2], details=details)
    return replace(verdict, evidence=replace(evidence, message=_message(evidence, result)))


def _message(evidence: Evidence, result: ReproResult) -> str:
    """Return the message of TVM's error: the one that was raised, unless it begins in the same way."""
    of_tvm = result.ending is not None and evidence.kind in (result.ending.error, "ill-formed")
    texts = evidence.message, without_source(result.errors)
    told, printed = (" ".join(_ADDRESS.sub("", plain(each)).split()) for each in texts)
    if not of_tvm or not result.raised or told[:_ENOUGH].rstrip(" .:") in printed:
        return evidence.message
    raised = result.raised + result.errors.rpartition(result.raised)[2]
    return _LOGGED.sub("", raised).partition(": ")[2].strip(" :\n")


def _numbers(numbers: tuple[str, ...], count: re.Match[str]) -> tuple[str, ...]:
    """Return the numbers with those that NumPy counted, and read at the same place, or else at the first it names."""
    path, expected, observed, seen = numbers
    value, _, index = expected.partition(" at index ")
    places = {at: (got, due) for at, got, due in _PLACE.findall(count.string)}
    index = index if index in places or not (index and places) else next(iter(places))
    scalars = None if index else _SCALARS.search(count.string)
    got, due = scalars.groups() if scalars else places.get(index, (seen, value))
    pairs = ((value, due), (seen, got))
    value, seen = (old if _same(old, new) else f"{new}0" if new[-1] == "." else new for old, new in pairs)
    counted = f"; {count[1]} of {count[2]} elements differ" if "; " in observed else ""
    return path, f"{value} at index {index}" if index else value, f"{seen}{counted}", seen


def _same(told: str, printed: str) -> bool:
    """Say whether NumPy has printed a number that is told, perhaps in fewer digits."""
    try:
        one, other = float(told), float(printed)
    except ValueError:  # a boolean
        return told == printed
    return math.isclose(one, other, rel_tol=1e-5) or (math.isnan(one) and math.isnan(other))
