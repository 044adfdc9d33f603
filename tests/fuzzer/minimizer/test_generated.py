"""Generated modules survive being taken apart and put together; edits fail in the documented way only."""

from __future__ import annotations

import itertools
from typing import Any

import tvm
import tvm_ffi
from hypothesis import HealthCheck, Phase, given, seed, settings
from tvm import relax

from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.safety import hazards
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take
from strategies import ir_modules

QUICK = settings(
    max_examples=40,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@seed(7)
@QUICK
@given(ir_modules())
def test_emission_of_an_unedited_sketch_is_the_same_module(module: Any) -> None:
    emitted = emit(take(module))
    tvm.ir.assert_structural_equal(emitted, module)
    assert hazards(module) == hazards(emitted)


@seed(8)
@settings(QUICK, max_examples=8)
@given(ir_modules())
def test_edits_give_well_formed_modules_or_none(module: Any) -> None:
    before = tvm_ffi.structural_hash(module)
    for reduction in dict.fromkeys(REDUCTIONS):
        for _, edit in itertools.islice(reduction.edits(take(module)), 12):
            sketch = edit()
            if sketch is None:
                continue
            try:
                assert relax.analysis.check_well_formed(emit(sketch))
            except Invalid:
                continue
    assert tvm_ffi.structural_hash(module) == before
