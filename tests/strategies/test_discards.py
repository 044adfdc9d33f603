"""How many draws are thrown away."""

from __future__ import annotations

import random

from drawing import BUFFER

from strategies import ir_modules
from strategies.scope.from_bytes import draw_from_bytes


def test_hardly_a_draw_is_discarded():
    source = random.Random(77)
    discarded = sum(draw_from_bytes(ir_modules(), source.randbytes(BUFFER)) is None for _ in range(1000))
    assert discarded <= 20
