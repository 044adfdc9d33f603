"""What has no row: that each entry says what is so."""

import random

import pytest

from strategies import Feature, ir_modules, operators_of
from strategies.operators import exclusions
from strategies.scope.from_bytes import draw_from_bytes

DRAWN = {
    Feature.IMPURE_CALLS: ["print", "assert_op"],
    Feature.LOWERED: [
        "builtin.alloc_tensor",
        "memory.alloc_storage",
        "memory.alloc_tensor",
        "memory.kill_storage",
        "memory.kill_tensor",
        "vm.kill_object",
    ],
    Feature.STOP_LIFT: ["builtin.stop_lift_params"],
    Feature.NON_EXECUTABLE: ["call_tir_with_grad"],
    Feature.DISTRIBUTED: ["ccl.allreduce", "dist.annotate_sharding", "dist.redistribute"],
    Feature.KERNELS: ["call_tir"],
    Feature.INPLACE_KERNELS: ["call_tir_inplace"],
    Feature.DEVICE_HINTS: ["hint_on_device", "to_vdevice"],
    Feature.MADE_CLOSURES: ["make_closure", "invoke_closure", "invoke_pure_closure"],
}
"""Operators without a row that modules have all the same, by the feature that brings them."""


def drawn(strategy, count):
    for seed in range(count):
        yield draw_from_bytes(strategy, random.Random(seed).randbytes(8192))


def test_every_entry_that_claims_to_be_drawn_is_listed_here():
    claimed = {name for name, reason in exclusions.items() if reason.startswith("generated elsewhere")}
    assert claimed == {f"relax.{name}" for names in DRAWN.values() for name in names}


@pytest.mark.parametrize("feature", list(DRAWN), ids=str)
def test_what_claims_to_be_drawn_is(feature):
    missing = {f"relax.{name}" for name in DRAWN[feature]}
    for module in drawn(ir_modules(demand=[feature], max_bindings=8), 300):
        missing -= operators_of(module)
        if not missing:
            return
    pytest.fail(f"never drawn: {sorted(missing)}")


def test_the_others_are_not_drawn():
    never = {name for name, reason in exclusions.items() if not reason.startswith("generated elsewhere")}
    for module in drawn(ir_modules(), 150):
        assert not operators_of(module) & never
