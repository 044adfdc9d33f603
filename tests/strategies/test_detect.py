# ruff: noqa: F841, RET504, SIM108 -- the sample is TVMScript, not Python
from __future__ import annotations

import pytest
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from strategies import Feature, features_of, operators_of


@I.ir_module(s_tir=True)
class Plain:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y


@I.ir_module(s_tir=True)
class Rich:
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @R.function(private=True)
    def helper(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        y = R.exp(x)
        return y

    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"),
        c: R.Tensor((), "bool"),
        z: R.Tensor("float16", ndim=2),
        w: R.Tensor((0,), "int8"),
    ) -> R.Tuple(R.Tensor("float16", ndim=2), R.Tuple(R.Tensor("float32", ndim=2))):
        n = T.int64()
        R.func_attr({"num_input": 3, "tir_var_upper_bound": {"n": 4}})
        cls = Rich
        a = cls.helper(x)
        b = cls.helper(x)
        if c:
            r = R.abs(a)
        else:
            r = R.abs(b)
        m = R.match_cast(r, R.Tensor((n, 3), "float32"))
        s = m
        h = R.hint_on_device(s, R.device(1, 0))
        unused = R.reshape(h, R.shape([n * 3]))
        return (z, (h,))


def test_a_plain_function_has_no_feature():
    assert features_of(Plain) == frozenset()


def test_every_feature_that_is_there_is_found():
    assert features_of(Rich) == {
        Feature.ALIASES,
        Feature.BOOLEANS,
        Feature.DEAD_CODE,
        Feature.DEVICE_HINTS,
        Feature.DUPLICATE_CODE,
        Feature.EMPTY_TENSORS,
        Feature.HALF,
        Feature.IF,
        Feature.INTEGERS,
        Feature.MATCH_CAST,
        Feature.MULTIPLE_FUNCTIONS,
        Feature.NESTED_TUPLES,
        Feature.ORDINARY_BLOCKS,
        Feature.PRIVATE_CALLS,
        Feature.SHAPE_EXPRESSIONS,
        Feature.SYMBOLIC_SHAPES,
        Feature.TUPLES,
        Feature.UNKNOWN_SHAPES,
        Feature.UNUSED_PARAMETERS,
        Feature.UPPER_BOUNDS,
        Feature.VDEVICE,
        Feature.WEIGHTS,
    }


@pytest.mark.parametrize(("annotate", "feature"), [(False, Feature.COMPOSITE), (True, Feature.CODEGEN)])
def test_what_fuse_ops_by_pattern_leaves_is_found(annotate, feature):
    from tvm.relax.dpl import is_op, wildcard

    patterns = [("pyext.exp", is_op("relax.exp")(wildcard()))]
    fused = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=annotate)(Plain)
    assert {feature, Feature.COMPOSITE} <= features_of(fused)
    assert Feature.LOCAL_FUNCTIONS not in features_of(fused)


def test_constants_count_from_one_dim_on():
    def module(number):
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((2,), "float32"))
        with builder.function("main", [x]):
            with builder.dataflow():
                y = builder.emit_output(relax.op.add(x, relax.const(number, "float32")))
            builder.emit_func_output(y)
        return builder.get()

    assert features_of(module(1.0)) == frozenset()
    assert features_of(module([1.0, 2.0])) == {Feature.CONSTANTS}


def test_operators_are_counted_in_all_relax_functions_and_branches() -> None:
    assert operators_of(Plain) == {"relax.exp"}
    found = operators_of(Rich)
    assert {"relax.exp", "relax.abs", "relax.hint_on_device"} <= found
