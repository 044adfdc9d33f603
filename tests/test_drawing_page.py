"""docs/drawing-modules.md is what the code says, and its examples draw what they name."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tvm import relax

from strategies import Feature, features_of, ir_modules
from strategies.scope.from_bytes import draw_and_bytes

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = DOCS / "generator" / "drawing_modules.py"
    spec = importlib.util.spec_from_file_location("drawing_modules", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_generator_writes(generator: ModuleType) -> None:
    assert (DOCS / "drawing-modules.md").read_text() == generator.page(), "python docs/generator/drawing_modules.py"


def test_the_examples_draw(generator: ModuleType) -> None:
    for example in generator.EXAMPLES.values():
        strategy: Any = eval(example, {"ir_modules": ir_modules, "Feature": Feature, "relax": relax})
        assert draw_and_bytes(strategy, random.Random(1).randbytes(1 << 14)) is not None, example


@pytest.mark.parametrize("feature", list(Feature))
def test_a_demanded_feature_is_in_the_module(feature: Feature) -> None:
    for seed in range(5):
        if (drawn := draw_and_bytes(ir_modules(demand=[feature]), random.Random(seed).randbytes(1 << 14))) is not None:
            assert feature in features_of(drawn[0])
            return
    pytest.fail("nothing was drawn")
