"""What is planted where, which oracle must catch it, and within how many generated modules.

``within`` is three times or more the number of modules after which the bug was found with the seed of
``tests/planted/generated.py``; no module is generated for a particular bug.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import USER_PREFIX, PassRef

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
        first: Number of the generated module that is tried first, before all from the first one on: where it shows.
            When it moves, `pytest -m slow -rP tests/test_planted.py -k order` says after how many it is now.
    """

    file: str
    factory: str
    oracle: OracleName
    within: int
    manner: Manner = Manner.VERDICT
    first: int = 0

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


Name = OracleName

PLANTED: tuple[Planted, ...] = (
    Planted("crash.py", "nested_tuple", Name.CRASH, 100),
    Planted("crash.py", "third_function", Name.CRASH, 30),
    Planted("crash.py", "segfault_on_bool", Name.CRASH, 100, Manner.DEATH),
    Planted("crash.py", "abort_on_device_move", Name.CRASH, 100, Manner.DEATH),
    Planted("crash.py", "hang_on_scan", Name.CRASH, 100, Manner.DEATH),
    Planted("crash.py", "memory_eater", Name.CRASH, 100, Manner.DEATH),
    Planted("mutation.py", "attribute", Name.MUTATION, 5),
    Planted("mutation.py", "composite_attribute", Name.MUTATION, 100),
    Planted("mutation.py", "constant_payload", Name.MUTATION, 150),
    Planted("mutation.py", "parameter_names", Name.MUTATION, 20),
    Planted("mutation.py", "device_table", Name.MUTATION, 60, first=6),
    Planted("determinism.py", "counter", Name.DETERMINISM, 5),
    Planted("determinism.py", "coin", Name.DETERMINISM, 60),
    Planted("determinism.py", "address", Name.DETERMINISM, 60),
    Planted("determinism.py", "memo", Name.DETERMINISM, 60),
    Planted("sequential.py", "call_stack", Name.SEQUENTIAL, 5),
    Planted("sequential.py", "symbolic_call_stack", Name.SEQUENTIAL, 30),
    Planted("sequential.py", "required", Name.SEQUENTIAL, 5),
    Planted("idempotence.py", "alias_each_run", Name.IDEMPOTENCE, 10),
    Planted("idempotence.py", "flips_operands", Name.IDEMPOTENCE, 60),
    Planted("idempotence.py", "second_run_fails", Name.IDEMPOTENCE, 5),
    Planted("idempotence.py", "suffix_each_run", Name.IDEMPOTENCE, 30),
    Planted("locality.py", "numbered", Name.LOCALITY, 40),
    Planted("locality.py", "first_by_name", Name.LOCALITY, 200, first=119),
    Planted("locality.py", "only_one", Name.LOCALITY, 60),
    Planted("locality.py", "leaking_table", Name.LOCALITY, 60),
    Planted("well_formed.py", "renames_public", Name.WELL_FORMED, 10),
    Planted("well_formed.py", "hides_public", Name.WELL_FORMED, 10),
    Planted("well_formed.py", "drops_public", Name.WELL_FORMED, 60),
    Planted("well_formed.py", "drops_callee", Name.WELL_FORMED, 30),
    Planted("well_formed.py", "wrong_return_type", Name.WELL_FORMED, 20),
    Planted("well_formed.py", "forgets_callers", Name.WELL_FORMED, 30),
    Planted("well_formed.py", "undefined_variable", Name.WELL_FORMED, 10),
    Planted("well_formed.py", "dataflow_escape", Name.WELL_FORMED, 20),
    Planted("well_formed.py", "undefined_dim", Name.WELL_FORMED, 40),
    Planted("environment.py", "watched", Name.ENVIRONMENT, 30),
    Planted("environment.py", "level", Name.ENVIRONMENT, 30, first=10),
    Planted("environment.py", "target", Name.ENVIRONMENT, 60, first=15),
    Planted("environment.py", "sticky", Name.ENVIRONMENT, 60),
    Planted("environment.py", "own_thread", Name.ENVIRONMENT, 40),
    Planted("environment.py", "numbered", Name.ENVIRONMENT, 30, first=15),
    Planted("environment.py", "part_overwrites", Name.ENVIRONMENT, 100),
    Planted("postcondition.py", "forgets_impure", Name.POSTCONDITION, 120, first=60),
    Planted("postcondition.py", "forgets_kernels", Name.POSTCONDITION, 60, first=12),
    Planted("postcondition.py", "dataflow_only", Name.POSTCONDITION, 600, first=92),
    Planted("postcondition.py", "drops_attribute", Name.POSTCONDITION, 30),
    Planted("postcondition.py", "drops_module_attributes", Name.POSTCONDITION, 10),
    Planted("postcondition.py", "leaves_probe", Name.POSTCONDITION, 10),
    Planted("postcondition.py", "cleans_unmatched", Name.POSTCONDITION, 30),
    Planted("numeric.py", "swapped_subtract", Name.NUMERIC, 1200),
    Planted("numeric.py", "integer_clip", Name.NUMERIC, 200, first=35),
    Planted("numeric.py", "axis_off_by_one", Name.NUMERIC, 200, first=45),
    Planted("numeric.py", "wrong_branch", Name.NUMERIC, 400, first=13),
    Planted("numeric.py", "rounded_constant", Name.NUMERIC, 100),
    Planted("numeric.py", "sums_in_half", Name.NUMERIC, 200),
    Planted("numeric.py", "one_percent", Name.NUMERIC, 200),
    Planted("numeric.py", "one_element", Name.NUMERIC, 300),
    Planted("numeric.py", "third_times_three", Name.NUMERIC, 300),
    Planted("numeric.py", "sixteen_units", Name.NUMERIC, 30),
    Planted("roundtrip.py", "dangling_dim", Name.ROUNDTRIP, 5),
    Planted("roundtrip.py", "dotted_name", Name.ROUNDTRIP, 60),
    Planted("roundtrip.py", "forgets_device", Name.ROUNDTRIP, 250, first=6),
    Planted("abi.py", "lifts_reversed", Name.NUMERIC, 60),
    Planted("abi.py", "bundles_reversed", Name.NUMERIC, 60),
    Planted("abi.py", "fetches_reversed", Name.NUMERIC, 200),
    Planted("abi.py", "sets_other_output", Name.NUMERIC, 200, first=9),
    Planted("abi.py", "turned_gradient", Name.NUMERIC, 1600, first=190),
    Planted("somewhere.py", "symbolic_dim", Name.NUMERIC, 200, first=9),
    Planted("somewhere.py", "third_of_functions", Name.NUMERIC, 200, first=7),
    Planted("somewhere.py", "inside_branch", Name.NUMERIC, 1600, first=106),
    Planted("somewhere.py", "inside_composite", Name.NUMERIC, 200),
    Planted("somewhere.py", "on_device", Name.NUMERIC, 250, first=18),
    Planted("somewhere.py", "int8_only", Name.NUMERIC, 1500, first=44),
    Planted("somewhere.py", "rank_zero", Name.NUMERIC, 200, first=36),
    Planted("somewhere.py", "one_branch", Name.NUMERIC, 900, first=598),
    Planted("miscompiled.py", "lost_attribute", Name.NUMERIC, 550, first=70),
    Planted("miscompiled.py", "swapped_broadcast", Name.NUMERIC, 20),
    Planted("miscompiled.py", "padding_side", Name.NUMERIC, 140, first=45),
    Planted("miscompiled.py", "slice_off_by_one", Name.NUMERIC, 140, first=42),
    Planted("miscompiled.py", "narrow_index", Name.NUMERIC, 60, first=16),
    Planted("miscompiled.py", "lost_nan", Name.NUMERIC, 60, first=7),
    Planted("miscompiled.py", "last_axis", Name.NUMERIC, 20, first=7),
    Planted("miscompiled.py", "reshaped_transpose", Name.NUMERIC, 100, first=27),
    Planted("miscompiled.py", "toward_zero", Name.NUMERIC, 650, first=213),
    Planted("miscompiled.py", "zero_identity", Name.NUMERIC, 350, first=292),
    Planted("flow.py", "in_place_live", Name.NUMERIC, 20),
    Planted("flow.py", "shared_storage", Name.NUMERIC, 40, first=10),
    Planted("flow.py", "swapped_effects", Name.NUMERIC, 200, first=60),
    Planted("flow.py", "wrong_field", Name.NUMERIC, 110, first=33),
    Planted("flow.py", "fixed_dim", Name.NUMERIC, 80, first=16),
    Planted("flow.py", "crossed_arguments", Name.NUMERIC, 650, first=159),
    Planted("flow.py", "merged_constants", Name.NUMERIC, 30, first=5),
    Planted("again.py", "halves_first", Name.NUMERIC, 200, first=29),
    Planted("again.py", "adds_nothing", Name.NUMERIC, 300, first=143),
    Planted("again.py", "greatest_of_none", Name.NUMERIC, 300, first=251),
    Planted("again.py", "memo_by_shape", Name.NUMERIC, 60),
    Planted("again.py", "one_buffer", Name.NUMERIC, 200, first=29),
    Planted("again.py", "reads_garbage", Name.NUMERIC, 60),
)

CLEAN: tuple[PassRef, ...] = tuple(
    PassRef(name, f"{USER_PREFIX}{HERE / 'clean.py'}:{name}")
    for name in ("identity", "rebuild_everything", "high_level")
)

RELATIONS = {
    "determinism.py:counter": ("a reloaded copy of the input", "the same input object"),
    "determinism.py:coin": ("a reloaded copy of the input", "the same input object"),
    "determinism.py:address": ("a reloaded copy of the input",),
    "determinism.py:memo": ("a reloaded copy of the input", "the same input object"),
    "sequential.py:call_stack": ("another module from Sequential",),
    "sequential.py:required": ("another module from Sequential",),
    "environment.py:watched": ("under a pass instrument", "under PassTimingInstrument"),
    "environment.py:level": ("at opt_level three",),
    "environment.py:target": ("outside of a target",),
    "environment.py:sticky": ("after a run on another module",),
    "environment.py:own_thread": ("in another thread", "under PassTimingInstrument"),
    "environment.py:numbered": ("as another object",),
    "environment.py:part_overwrites": ("under testing.immutable_module",),
    "locality.py:numbered": ("beside other functions", "in another order of functions"),
    "locality.py:first_by_name": ("beside other functions", "under other private names"),
    "locality.py:only_one": ("beside other functions",),
    "locality.py:leaking_table": ("beside other functions", "in another order of functions"),
}
"""The second runs that show a planted bug: its evidence names one of them."""
