# ruff: noqa: F841, RET504 -- the samples are TVMScript, not Python
from __future__ import annotations

import tvm
from recursive_sample import Mutual
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from strategies import Feature, features_of

CALLS = frozenset(
    {
        Feature.CAPTURES,
        Feature.DEEP_CALLS,
        Feature.FUNCTION_ATTRS,
        Feature.IMPURE_CALLS,
        Feature.MADE_CLOSURES,
        Feature.MODULE_ATTRS,
        Feature.NESTED_CLOSURES,
        Feature.PACKED_CALLS,
        Feature.RECURSION,
        Feature.RETURNED_CLOSURES,
    }
)


def call_features(module: tvm.IRModule) -> frozenset[Feature]:
    """The features of calls, closures, effects and attributes that a module has."""
    return features_of(module) & CALLS


def chain(length: int, private: bool = True) -> tvm.IRModule:
    """``main`` above ``length`` functions, each calling the next."""
    builder = relax.BlockBuilder()
    below = None
    for number in range(length, -1, -1):
        x = relax.Var("x", relax.TensorType((2,), "float32"))
        with builder.function("main" if number == 0 else f"f{number}", [x], private=private and number > 0):
            value = builder.emit(relax.op.exp(x) if below is None else relax.Call(below, [x]))
            below = builder.emit_func_output(value)
    return builder.get()


def test_three_private_functions_make_a_deep_chain():
    assert call_features(chain(3)) == {Feature.DEEP_CALLS}
    assert call_features(chain(2)) == frozenset()
    assert call_features(chain(3, private=False)) == frozenset()


def test_recursion_through_another_function_counts_and_is_one_link():
    assert call_features(Mutual) == {Feature.RECURSION}


@I.ir_module(s_tir=True)
class Rich:
    I.module_attrs({"model_name": "m"})

    @R.function(private=True)
    def lifted(a: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"note": 1})
        c = R.add(a, b)
        return c

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Rich

        @R.function
        def outer(
            y: R.Tensor((2,), "float32"),
        ) -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True):
            @R.function
            def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                s = R.add(z, y)
                return s

            return inner

        f = outer(x)
        r = f(x)
        made = R.make_closure(cls.lifted, (r,))
        w = R.invoke_pure_closure(made, (x,), ty_args=R.Tensor((2,), "float32"))
        p = R.call_pure_packed("vm.builtin.copy", w, ty_args=R.Tensor((2,), "float32"))
        q = R.print(p, format="{}")
        return p


def test_every_feature_of_this_theme_is_found():
    assert call_features(Rich) == CALLS - {Feature.DEEP_CALLS, Feature.RECURSION}
