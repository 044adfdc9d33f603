"""How many draws are thrown away."""

from __future__ import annotations

from drawing import PLAIN, plain_draws


def test_hardly_a_draw_is_discarded():
    assert plain_draws().count(None) <= PLAIN * 0.02
