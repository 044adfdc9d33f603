"""How each oracle's failure is shown in a short script: one row an oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fuzzer.repro.short.around import environment, locality
from fuzzer.repro.short.numeric import numeric
from fuzzer.repro.short.runs import crash, determinism, idempotence, mutation, sequential
from fuzzer.repro.short.scene import Scene, Showing
from fuzzer.repro.short.structure import postcondition, roundtrip, well_formed
from oracles.core.verdict import NOT_AS_DOCUMENTED
from oracles.gradient.oracle import KIND
from relaxkit.passes.contract import OracleName


@dataclass(frozen=True, slots=True)
class ShortCheck:
    """The row of an oracle.

    Attributes:
        write: Yields what shows a failure in a scene, the best first.
        source: What the expectation rests on.
        hang_seconds: When an alarm ends a script that does not end.
        sources: What it rests on where it is another thing, by the kind of the failure.
        origins: Where an expected number is from, by the kind of the failure.
    """

    write: Callable[[Scene], Iterator[Showing]]
    source: str = ""
    hang_seconds: float = 20.0
    sources: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)


_TWICE = "a pass is a function of its module"

SHORT_CHECKS: dict[OracleName, ShortCheck] = {
    OracleName.CRASH: ShortCheck(crash),
    OracleName.MUTATION: ShortCheck(mutation, "a pass returns a new module"),
    OracleName.DETERMINISM: ShortCheck(determinism, _TWICE, 60.0),
    OracleName.SEQUENTIAL: ShortCheck(sequential, "Sequential runs its passes in order"),
    OracleName.IDEMPOTENCE: ShortCheck(idempotence),
    OracleName.WELL_FORMED: ShortCheck(
        well_formed, sources={"ill-formed": "TVM's checker, relax.analysis.well_formed"}
    ),
    OracleName.POSTCONDITION: ShortCheck(postcondition),
    OracleName.ROUNDTRIP: ShortCheck(roundtrip),
    OracleName.LOCALITY: ShortCheck(locality, _TWICE),
    OracleName.ENVIRONMENT: ShortCheck(environment, _TWICE),
    OracleName.NUMERIC: ShortCheck(
        numeric,
        hang_seconds=60.0,
        origins={
            KIND: "as differences of the function itself give",
            NOT_AS_DOCUMENTED: "as TVM documents the operator",
        },
    ),
}
