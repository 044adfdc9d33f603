"""The claim on textures: it tells of tensors that the memory does not take, and not of others."""

from __future__ import annotations

from typing import Any

import pytest
from tvm import relax

from relaxkit.passes.claims.training import texture_of_another_shape
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef
from strategies.detect.module_facts import facts_of
from strategies.pass_arguments.table import PASS_ROWS
from strategies.scope.choices import Choices

TEXTURE, GLOBAL = (relax.VDevice("llvm", 0, scope) for scope in ("global.texture-nhwc", "global"))


def module(shape: tuple[int, ...], device: Any) -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "float32", vdevice=device))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    return builder.finalize()


@pytest.mark.parametrize(
    ("shape", "device", "told"),
    [
        ((1, 2, 3, 3, 4), TEXTURE, False),
        ((1, 2, 3, 3, 2), TEXTURE, True),
        ((2, 4), TEXTURE, True),
        ((2, 4), GLOBAL, False),
        ((2, 4), None, False),
    ],
)
def test_textures_are_of_five_dims_the_last_of_four(shape: tuple[int, ...], device: Any, told: bool) -> None:
    given = module(shape, device)
    assert bool(texture_of_another_shape(Ran(given, given, {}))) is told


def test_convolutions_are_put_into_textures() -> None:
    builder = relax.BlockBuilder()
    x, w = (
        relax.Var(name, relax.TensorType(shape, "float32"))
        for name, shape in (("x", (1, 4, 8, 8)), ("w", (8, 4, 3, 3)))
    )
    with builder.function("main", [x, w]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.nn.conv2d(x, w))
        builder.emit_func_output(result)
    given = builder.finalize()
    draws = Choices(lambda _: bytes(8))
    ref = PassRef("AnnotateCustomMemoryScope", PASS_ROWS["AnnotateCustomMemoryScope"].draw(draws, facts_of(given)))
    after = ref.build()(given)
    assert "texture" in after.script()
    assert texture_of_another_shape(Ran(given, after, {})) == ""
    assert CONTRACTS["AnnotateCustomMemoryScope"].composed
