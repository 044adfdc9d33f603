"""A plugin with a strategy: residual blocks, of which our models are made."""

from hypothesis import strategies as st
from tvm import relax

from relaxkit.passes.plugins import Plugin


@st.composite
def residual_blocks(draw):
    """A module of one to four layers ``relu(x @ w) + x``."""
    width = draw(st.integers(1, 8))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((draw(st.integers(1, 4)), width), "float32"))
    weights = [
        relax.Var(f"w{index}", relax.TensorType((width, width), "float32")) for index in range(draw(st.integers(1, 4)))
    ]
    with builder.function("main", [x, *weights]):
        with builder.dataflow():
            value = x
            for weight in weights:
                layer = builder.emit(relax.op.nn.relu(builder.emit(relax.op.matmul(value, weight))))
                value = builder.emit(relax.op.add(layer, value))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


PLUGIN = Plugin(modules=residual_blocks)
