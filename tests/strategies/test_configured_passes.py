"""Passes whose text carries options of the ``PassContext``."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import tvm

from strategies.passes import passes
from strategies.scope.from_bytes import draw_from_bytes


def drawn(name: str, count: int = 120) -> Counter[str]:
    """Texts of a pass, with how often each was drawn."""
    source = random.Random(5)
    made = (draw_from_bytes(passes([name]), source.randbytes(256)) for _ in range(count))
    return Counter(each.expression for each in made if each is not None)


@pytest.mark.parametrize(
    ("name", "option", "least", "most"),
    [
        ("RewriteCUDAGraph", "relax.backend.use_cuda_graph", 0.7, 0.99),
        ("FuseOps", "relax.FuseOps.max_depth", 0.1, 0.5),
        ("LiftTransformParams", "relax.lift_transform_params.consume_params", 0.02, 0.3),
    ],
)
def test_an_option_is_drawn_with_and_without(name: str, option: str, least: float, most: float) -> None:
    texts = drawn(name)
    assert option in tvm.transform.PassContext.list_configs()
    share = sum(count for text, count in texts.items() if option in text) / sum(texts.values())
    assert least <= share <= most
    assert all(text.startswith("configured(") == (option in text) for text in texts)


def test_every_option_of_relax_is_drawn_or_left_out_for_a_reason() -> None:
    drawn_options = {
        "relax.backend.use_cuda_graph",
        "relax.FuseOps.max_depth",
        "relax.lift_transform_params.consume_params",
    }
    left_out = {"relax.transform.apply_legalize_ops", "relax.fallback_device_type"}  # the module's docstring says why
    known = {str(name) for name in tvm.transform.PassContext.list_configs() if str(name).startswith("relax.")}
    assert {name for name in known if not name.startswith("relax.ext.")} == drawn_options | left_out
