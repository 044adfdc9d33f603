"""One case of the corpus as a record, and its file format (``case.toml``)."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from oracles.passref import PassRef
from oracles.verdict import OracleName, Outcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What a case may expect: a case whose oracle skips or rejects shows nothing.
_EXPECTABLE = {str(Outcome.PASS): Outcome.PASS, str(Outcome.FAIL): Outcome.FAIL}
_KEYS = {
    "title", "explanation", "oracle", "upstream", "culprit", "input_seed", "isolated", "pattern", "passes", "expected",
    "replica",
}  # fmt: skip


class CaseError(ValueError):
    """A case directory that is missing, incomplete or malformed; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one run of a case must give.

    Attributes:
        outcome: ``PASS`` or ``FAIL``, the word of the case's oracle.
        pattern: Regular expression that must be found in ``kind: message`` (or in a frame) of a failure's evidence;
            empty accepts any evidence.
    """

    outcome: Outcome
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Replica:
    """A Python pass that behaves as TVM did before a defect was repaired.

    Attributes:
        passes: The case's pass, by its own name, built by the replica's factory.
        expectation: What the oracle must say of it: it shows that the oracle would catch the defect again.
    """

    passes: tuple[PassRef, ...]
    expectation: Expectation


@dataclass(frozen=True, slots=True)
class KnownCase:
    """A known module, a pass, and what an oracle says of them.

    Attributes:
        slug: Name of the directory.
        directory: Where ``case.toml`` and the module lie.
        title: What happens, in a few words.
        explanation: What is wrong in TVM (or was), in one sentence.
        oracle: Who judges.
        passes: One pass, or a pipeline of several.
        expected: Expectation by TVM version (``importlib.metadata`` version of ``apache-tvm``).
        upstream: Issue or pull request (``apache/tvm#17205``), empty when none is known.
        input_seed: Seed of the inputs that the numeric oracle draws.
        isolated: The case kills its process, so it gets one of its own and is judged by all oracles: the death
            may come from any of them and is the crash oracle's verdict.
        replica: The old behaviour of a defect repaired today.
        culprit: Who is to blame when that is not one of the passes (``TVMScript``, ``JSON``); empty otherwise.
    """

    slug: str
    directory: Path
    title: str
    explanation: str
    oracle: OracleName
    passes: tuple[PassRef, ...]
    expected: Mapping[str, Expectation] = field(default_factory=dict)
    upstream: str = ""
    input_seed: int = 0
    isolated: bool = False
    replica: Replica | None = None
    culprit: str = ""

    @property
    def blamed(self) -> str:
        """Who is to blame: the culprit that is no pass, or the passes."""
        return self.culprit or self.pass_text

    @property
    def pass_text(self) -> str:
        """Names of the passes, joined by arrows."""
        return " -> ".join(ref.name for ref in self.passes)

    def expectation_for(self, version: str) -> Expectation | None:
        """The expectation for a TVM version, ``None`` when the case says nothing of it."""
        return self.expected.get(version)


def parse_case(directory: Path) -> KnownCase:
    """Read ``directory/case.toml``; raises ``CaseError`` with file and key in one line."""
    path = directory / "case.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: {error}") from error
    reader = _Reader(path)
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise reader.error(unknown[0], "is not a key of a case")
    pattern = reader.text(table, "pattern", "")
    passes = reader.passes(table)
    isolated = table.get("isolated", False)
    seed = table.get("input_seed", 0)
    if not isinstance(isolated, bool):
        raise reader.error("isolated", "must be true or false")
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise reader.error("input_seed", "must be an integer")
    oracle = reader.text(table, "oracle")
    if oracle not in {str(name) for name in OracleName}:
        raise reader.error("oracle", f"'{oracle}' is not an oracle")
    return KnownCase(
        slug=directory.name,
        directory=directory,
        title=reader.text(table, "title"),
        explanation=reader.text(table, "explanation"),
        oracle=OracleName(oracle),
        passes=passes,
        expected=reader.expected(table, pattern),
        upstream=reader.text(table, "upstream", ""),
        input_seed=seed,
        isolated=isolated,
        replica=reader.replica(table, passes),
        culprit=reader.text(table, "culprit", ""),
    )


class _Reader:
    """Typed access to a case's table; every complaint names the file and the key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, key: str, complaint: str) -> CaseError:
        return CaseError(f"{self.path}: key '{key}' {complaint}")

    def text(self, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if not isinstance(value, str) or (default is None and not value):
            raise self.error(key, "must be a text")
        if "\n" in value:
            raise self.error(key, "must be one line")
        return value

    def pattern(self, text: str, key: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise self.error(key, f"is no regular expression: {error}") from error
        return text

    def passes(self, table: Mapping[str, Any]) -> tuple[PassRef, ...]:
        rows = table.get("passes")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise self.error("passes", "must be a list of tables with name and expression")
        return tuple(PassRef(self.text(row, "name"), self.text(row, "expression")) for row in rows)

    def outcome(self, value: object, key: str) -> Outcome:
        if not isinstance(value, str) or value not in _EXPECTABLE:
            raise self.error(key, 'must be "pass" or "fail"')
        return _EXPECTABLE[value]

    def expected(self, table: Mapping[str, Any], pattern: str) -> Mapping[str, Expectation]:
        rows = table.get("expected")
        if not isinstance(rows, dict) or not rows:
            raise self.error("expected", "must be a table from TVM version to verdict")
        self.pattern(pattern, "pattern")
        found = {}
        for version, value in rows.items():
            outcome = self.outcome(value, f"expected.{version}")
            found[version] = Expectation(outcome, pattern if outcome is Outcome.FAIL else "")
        return MappingProxyType(found)

    def replica(self, table: Mapping[str, Any], passes: tuple[PassRef, ...]) -> Replica | None:
        row = table.get("replica")
        if row is None:
            return None
        if not isinstance(row, dict):
            raise self.error("replica", "must be a table")
        if len(passes) != 1:
            raise self.error("replica", "stands for one pass, but the case has several")
        ref = PassRef(passes[0].name, self.text(row, "expression"))
        pattern = self.pattern(self.text(row, "pattern", ""), "replica.pattern")
        return Replica((ref,), Expectation(self.outcome(row.get("expected"), "replica.expected"), pattern))
