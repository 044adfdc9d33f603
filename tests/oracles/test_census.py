"""What a module is made of, and which steps of lowering it can do without."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numeric_samples as samples
import pytest
import sample_modules
import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.summary import _last, summary_of
from relaxkit.runtime import Session, lower
from relaxkit.runtime.compile.fast_lowering import SAMPLED, SORTED, lower_quickly
from relaxkit.runtime.compile.legalization import Legalizer

op = relax.op


def test_operators_constants_and_kernels_are_seen() -> None:
    found = summary_of(samples.with_constant())
    assert found.operators == {"relax.add"}
    assert (found.constants, found.nested, found.kernels) == (True, False, False)
    assert found.overwrites_nothing
    assert not summary_of(samples.elementwise()).constants
    assert summary_of(sample_modules.MODULES["closure"]()).nested
    kernels = summary_of(sample_modules.MODULES["kernels"]())
    assert kernels.kernels
    assert not kernels.overwrites_nothing


@pytest.mark.parametrize("name", ["dataflow", "branches", "closure", "sorted_values", "vdevices", "symbolic"])
def test_the_short_pipeline_gives_what_the_whole_one_gives(name: str) -> None:
    module = sample_modules.MODULES[name]()
    legalizer = Session().legalizer
    for _ in range(2):
        assert tvm_ffi.structural_equal(lower(module), lower_quickly(module, legalizer), map_free_vars=True)


def test_devices_are_seen_to_where_only_a_parameter_is_on_one() -> None:
    device = relax.VDevice("llvm", 1, "global")
    x = relax.Var("x", relax.TensorType((2, 3), "float32", device))
    plain = relax.TensorType((2, 3), "float32")
    result = relax.Var("result", plain)
    block = relax.BindingBlock([relax.VarBinding(result, relax.op.add(x, x))])
    function = relax.Function([x], relax.SeqExpr([block], result), plain).with_attr("global_symbol", "main")
    module = tvm.IRModule({"main": function})
    module.update_global_info("vdevice", [device])
    assert not tvm_ffi.structural_equal(module, relax.transform.RealizeVDevice()(module))
    assert tvm_ffi.structural_equal(lower(module), lower_quickly(module, Legalizer()), map_free_vars=True)


def test_a_device_that_a_module_does_not_have_is_an_error() -> None:
    x = samples.var("x")
    module = samples.function([x], lambda builder: builder.emit(relax.op.hint_on_device(x, tvm.cpu(1))))
    for lowering in (lower, lambda given: lower_quickly(given, Legalizer())):
        with pytest.raises(ValueError, match="VDevice"):
            lowering(module)


def test_impure_operators_and_external_functions_may_overwrite_what_they_get() -> None:
    x = samples.var("x")

    def call(bb: Any) -> Any:
        return bb.emit(relax.call_dps_packed("anything", [x], x.ty))

    assert not summary_of(samples.function([x], call)).overwrites_nothing


@pytest.mark.parametrize(
    ("dispatcher", "operators"),
    [(relax.backend.DispatchSampling, SAMPLED), (relax.backend.DispatchSortScan, SORTED)],
)
def test_the_dispatching_passes_look_for_no_other_operators(dispatcher: Any, operators: frozenset[str]) -> None:
    source = inspect.getsource(inspect.getmodule(dispatcher) or dispatcher)
    assert set(re.findall(r'"(relax\.\w+)"', source)) <= operators


def test_a_module_that_was_given_another_function_is_counted_anew() -> None:
    module = samples.elementwise()
    assert not summary_of(module).constants
    module.update_func(module.get_global_var("main"), samples.with_constant()["main"])
    assert summary_of(module).constants


def test_nothing_is_remembered_behind_lowering() -> None:
    module = samples.elementwise()
    summary_of(module)
    lower_quickly(module, Legalizer())
    assert not _last
