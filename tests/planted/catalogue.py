"""What is planted where, which oracle must catch it, and within how many generated modules.

``within`` is about three times the number of modules after which the bug was found with the seeds of
``tests/test_planted.py``; no module is generated for a particular bug.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from oracles.passref import USER_PREFIX, PassRef
from oracles.verdict import OracleName

HERE = Path(__file__).resolve().parent


class Manner(enum.Enum):
    """How a planted bug shows."""

    VERDICT = "verdict"  # an oracle in the process sees it
    DEATH = "death"  # the process dies, hangs or eats its memory: only an isolated worker survives it


@dataclass(frozen=True)
class Planted:
    """One planted bug.

    Attributes:
        file: File in this directory.
        factory: Function of the file that builds the buggy pass; its clean twin is ``<factory>_clean``.
        oracle: The oracle that must catch it, and the only one that may.
        within: It must be caught within so many generated modules.
        manner: How it shows.
    """

    file: str
    factory: str
    oracle: OracleName
    within: int
    manner: Manner = Manner.VERDICT

    @property
    def id(self) -> str:
        """Name for test reports."""
        return f"{self.file}:{self.factory}"

    @property
    def path(self) -> Path:
        """The file."""
        return HERE / self.file

    def ref(self, clean: bool = False) -> PassRef:
        """Reference to the buggy pass or to its clean twin."""
        name = self.factory + "_clean" * clean
        return PassRef(name, f"{USER_PREFIX}{self.path}:{name}")


C, M, D, S = OracleName.CRASH, OracleName.MUTATION, OracleName.DETERMINISM, OracleName.SEQUENTIAL
I, W, N = OracleName.IDEMPOTENCE, OracleName.WELL_FORMED, OracleName.NUMERIC

PLANTED: tuple[Planted, ...] = (
    Planted("crash.py", "nested_tuple", C, 100),
    Planted("crash.py", "third_function", C, 30),
    Planted("crash.py", "segfault_on_bool", C, 100, Manner.DEATH),
    Planted("crash.py", "abort_on_device_move", C, 100, Manner.DEATH),
    Planted("crash.py", "hang_on_scan", C, 100, Manner.DEATH),
    Planted("crash.py", "memory_eater", C, 100, Manner.DEATH),
    Planted("mutation.py", "attribute", M, 5),
    Planted("mutation.py", "composite_attribute", M, 100),
    Planted("mutation.py", "constant_payload", M, 50),
    Planted("mutation.py", "parameter_names", M, 20),
    Planted("mutation.py", "device_table", M, 100),
    Planted("determinism.py", "counter", D, 5),
    Planted("determinism.py", "coin", D, 50),
    Planted("determinism.py", "address", D, 50),
    Planted("determinism.py", "memo", D, 50),
    Planted("sequential.py", "call_stack", S, 5),
    Planted("sequential.py", "symbolic_call_stack", S, 30),
    Planted("sequential.py", "required", S, 5),
    Planted("idempotence.py", "alias_each_run", I, 10),
    Planted("idempotence.py", "flips_operands", I, 30),
    Planted("idempotence.py", "second_run_fails", I, 5),
    Planted("idempotence.py", "suffix_each_run", I, 50),
    Planted("well_formed.py", "renames_public", W, 10),
    Planted("well_formed.py", "drops_public", W, 50),
    Planted("well_formed.py", "drops_callee", W, 50),
    Planted("well_formed.py", "wrong_return_type", W, 20),
    Planted("well_formed.py", "undefined_variable", W, 10),
    Planted("well_formed.py", "dataflow_escape", W, 20),
    Planted("well_formed.py", "undefined_dim", W, 30),
    Planted("numeric.py", "swapped_subtract", N, 200),
    Planted("numeric.py", "cast_through_int", N, 300),
    Planted("numeric.py", "axis_off_by_one", N, 300),
    Planted("numeric.py", "wrong_branch", N, 200),
    Planted("numeric.py", "rounded_constant", N, 100),
    Planted("numeric.py", "sums_in_half", N, 300),
    Planted("numeric.py", "one_percent", N, 200),
    Planted("numeric.py", "one_element", N, 200),
    Planted("numeric.py", "third_times_three", N, 200),
    Planted("somewhere.py", "symbolic_dim", N, 100),
    Planted("somewhere.py", "third_of_functions", N, 100),
    Planted("somewhere.py", "inside_branch", N, 200),
    Planted("somewhere.py", "inside_composite", N, 200),
    Planted("somewhere.py", "on_device", N, 200),
    Planted("somewhere.py", "int8_only", N, 200),
    Planted("somewhere.py", "rank_zero", N, 200),
)

CLEAN: tuple[PassRef, ...] = tuple(
    PassRef(name, f"{USER_PREFIX}{HERE / 'clean.py'}:{name}") for name in ("identity", "rebuild_everything", "high_level")
)
