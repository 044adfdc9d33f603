# ruff: noqa: RET504 -- the samples are TVMScript, not Python
# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""Postconditions of the passes on parameters: what each does satisfies them, and doing nothing does not."""

from __future__ import annotations

from typing import Any

import pytest
import sample_modules as samples
import tvm
from claims_of_passes import assert_claims, broken, name_of, ran, said
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxkit.passes.claims.kept import stated_claims
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS


def weighted() -> Any:
    """One input and two weights, a computation on weights alone, and a private function."""

    @I.ir_module
    class Module:
        @R.function(private=True)
        def helper(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
            with R.dataflow():
                y = R.exp(x)
                R.output(y)
            return y

        @R.function
        def main(x: R.Tensor((2, 4), "float32"), v: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                turned = R.permute_dims(w)
                both = R.add(turned, v)
                y = R.matmul(x, both)
                R.output(y)
            return y

    return Module


def symbolic() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", "m"), "float32")):
            z = R.exp(x)
            return (z, y)

        @R.function
        def other(x: R.Tensor(("n", 4), "float32")):
            return x

    return Module


def placed() -> Any:
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm:0")) -> R.Tensor((4,), "float32", "llvm:0"):
            y = R.exp(x)
            return y

    return Module


def without_effects() -> Any:
    """Weights, with LiftTransformParams, ToNonDataflow and RemovePurityChecking run."""
    steps = [relax.transform.LiftTransformParams(), relax.transform.ToNonDataflow()]
    return tvm.transform.Sequential([*steps, relax.transform.RemovePurityChecking()])(weighted())


_HALF = 'relax.transform.UpdateParamType(lambda var: relax.TensorType(var.ty.shape, "float16"))'

NOTHING: dict[str, tuple[Any, set[str]]] = {
    'relax.transform.BindParams("main", {"w": np.zeros((4, 4), "float32")})': (weighted, {"bound parameters are gone"}),
    'relax.transform.BindSymbolicVars({"n": 3})': (symbolic, {"bound dims are gone"}),
    'relax.transform.BindSymbolicVars({"n": 3}, "main")': (symbolic, {"bound dims are gone"}),
    "relax.transform.BundleModelParams()": (weighted, {"weights are one tuple"}),
    'relax.transform.BundleModelParams("bundle")': (weighted, {"weights are one tuple"}),
    "relax.transform.LiftTransformParams()": (weighted, {
        "each function has its transform", "no computation on weights alone is left",
    }),
    "relax.transform.LiftTransformParams(shared_transform=True)": (weighted, {"each function has its transform"}),
    "relax.transform.LazyGetInput()": (weighted, {"inputs come from a callback"}),
    "relax.transform.LazySetOutput()": (weighted, {"outputs go to a callback"}),
    "relax.transform.LazyTransformParams()": (without_effects, {"weights are no parameters"}),
    _HALF: (samples.dataflow, {"parameters have the types asked for"}),
    "relax.transform.UpdateParamType(lambda var: None)": (samples.dataflow, set()),
    'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2), 0)': (placed, {
        "no type mentions the old device", "the table names the new device",
    }),
}  # fmt: skip
"""Pass -> a module, and the claims that a pass breaks that gives this module back."""


@pytest.mark.parametrize("expression", list(NOTHING))
def test_what_the_pass_gives_satisfies_its_claims_and_doing_nothing_breaks_them(expression: str) -> None:
    assert_claims(expression, *NOTHING[expression])


@pytest.mark.parametrize(("name", "kept"), [("w", True), ("x", False)])
def test_num_input_counts_parameters_that_are_there(name: str, kept: bool) -> None:
    """Bound weights leave the inputs; a bound input leaves num_input larger than what is left."""
    (var,) = [each for each in weighted().get_global_vars() if each.name_hint == "main"]
    main = weighted()["main"]
    params = [param for param in main.params if param.name in ("x", "w")]
    body = relax.SeqExpr([], params[-1 if name == "x" else 0])
    attrs = main.with_attr("num_input", 1 if kept else len(params)).attrs
    module = tvm.IRModule({var: relax.Function(params, body, body.body.ty, True, attrs)})
    shape = tuple(int(dim) for dim in next(param for param in params if param.name == name).ty.shape)
    given = ran(module, f'relax.transform.BindParams("main", {{"{name}": np.zeros({shape}, "float32")}})')
    assert [param.name for param in given.after["main"].params] == [each.name for each in params if each.name != name]
    found = said("num_input counts parameters that are there", given, "BindParams")
    assert found.startswith("" if kept else "num_input counts parameters that were bound")
    assert bool(found) is not kept


def test_every_row_is_tried() -> None:
    from relaxkit.passes.contracts.params import ROWS

    assert {row.name for row in ROWS} == {name_of(expression) for expression in NOTHING}


def test_a_bundle_in_another_order_is_seen() -> None:
    module = weighted()
    main = module["main"]
    turned = relax.Function([main.params[0], main.params[2], main.params[1]], main.body, main.ret_ty, True, main.attrs)
    before = tvm.IRModule({"main": turned})
    given = ran(before, "relax.transform.BundleModelParams()")
    mixed = [relax.Var("x", turned.params[0].ty), relax.Var("model_params", relax.TupleType([turned.params[1].ty]))]
    after = tvm.IRModule({"main": relax.Function(mixed, relax.SeqExpr([], mixed[0]), mixed[0].ty, True, main.attrs)})
    assert not said("weights are one tuple", given, "BundleModelParams")
    assert said("weights are one tuple", Ran(before, after, {}), "BundleModelParams").startswith("the bundle is not")


def test_a_device_in_a_field_of_a_tuple_is_seen() -> None:
    """The case update-vdevice-tuple: the types of tuples keep the old device."""

    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm:0")):
            return (x, x)

    expression = 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2), 0)'
    assert broken(ran(Module, expression), "UpdateVDevice") == ["no type mentions the old device"]
    old = relax.VDevice("llvm", 0, "global")
    x = relax.Var("x", relax.TensorType((4,), "float32", old))
    idle = relax.Function([x], relax.SeqExpr([], relax.Tuple([])), relax.TupleType([]))
    given = tvm.IRModule({"main": idle}, global_infos={"vdevice": [old]})
    told = said("no type mentions the old device", ran(given, expression), "UpdateVDevice")
    assert told.endswith("leaves the old device in the type of the unused parameter x of main")


@pytest.mark.parametrize("name", ["LazyGetInput", "LazySetOutput"])
def test_a_private_function_that_changes_is_seen(name: str) -> None:
    given = ran(weighted(), f"relax.transform.{name}()")
    helper = given.after.get_global_var("helper")
    after = given.after.clone()
    after.update_func(helper, after[helper].with_attr("lazy", 1))
    claim = stated_claims(CONTRACTS[name])[0].claim
    assert said(claim, Ran(given.before, after, {}), name).startswith("a private function is another one")


@pytest.mark.parametrize("shared", [False, True])
def test_an_equal_device_elsewhere_in_the_table_may_stay(shared: bool) -> None:
    """1d32ed60b6: TVM replaces the same object, not an equal one, and which it is nobody sees."""
    devices = [relax.VDevice("llvm", 0, "global") for _ in range(2)]
    module = samples.dataflow().clone()
    module.update_global_info("vdevice", [devices[0], devices[0] if shared else devices[1]])
    given = ran(module, 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 1), 0)')
    table = [int(device.vdevice_id) for device in given.after.global_infos["vdevice"]]
    assert table == ([1, 1] if shared else [1, 0])
    assert not said("the table names the new device", given, "UpdateVDevice")
    given.after.update_global_info("vdevice", devices)
    assert said("the table names the new device", given, "UpdateVDevice")
