"""Failures that ``findings.toml`` accepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fuzzer.core.installed import TVM, version_of
from fuzzer.findings.family import Traits, family
from fuzzer.findings.file import Decisions, KnownFindings, load_decisions, load_known
from fuzzer.findings.signature import signature
from oracles.core.verdict import Verdict


@dataclass(frozen=True, slots=True)
class AcceptedFailures:
    """The entries of a file, and its decisions on families."""

    known: KnownFindings = field(default_factory=KnownFindings)
    decisions: Decisions = field(default_factory=Decisions)

    def holds(self, verdict: Verdict) -> bool:
        """Say whether a failure is accepted: by its id or signature, or by its family, as it is before minimization."""
        found = signature(verdict)
        placed = self.decisions.place(found.id, family(verdict, Traits(verdict.culprit)), found.former)
        return self.known.find(found.id, found.text, placed.id, found.former) is not None


def load_accepted(file: Path) -> AcceptedFailures:
    """Read a file, without the entries on other releases of TVM; raises ``fuzzer.core.toml.TomlError``."""
    return AcceptedFailures(load_known(file).of(version_of(TVM)), load_decisions(file))
