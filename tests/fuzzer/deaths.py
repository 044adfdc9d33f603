"""Evidence of processes that died, as their parents see it."""

from __future__ import annotations

from fuzzer.findings.signature import death_verdict
from fuzzer.worker.death import Death, Died
from oracles.core.verdict import Breadcrumb, Details, Evidence, Phase
from relaxkit.passes.contract import OracleName


def death(
    kind: str, oracle: OracleName | None = OracleName.CRASH, stage: Phase | None = None, entry: str = "", mode: str = ""
) -> Evidence:
    """The evidence of a process that died so: ``signal 11``, ``exit 3``, ``hang``, ``memory``."""
    how, _, code = kind.partition(" ")
    crumb = Breadcrumb.of(Details(oracle, stage, entry, mode=mode), "P")
    evidence = death_verdict(Died(Death(how), kind, crumb.text, code=int(code) if code else None), "P").evidence
    assert evidence is not None
    return evidence
