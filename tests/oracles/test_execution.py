from __future__ import annotations

from pathlib import Path
from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import sample_modules
import tvm
import tvm_ffi
from tvm import relax, te, topi

from oracles.measure.comparison import compare
from oracles.measure.inputs import materialize
from relaxkit.ir.functions import public_functions
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.runtime import (
    DiskCache,
    ExecMode,
    Session,
    cxx_available,
    judge_of_record,
    plain_build,
    private_constants,
    session,
)

RUNNABLE = ("dataflow", "branches", "private_calls", "kernels", "symbolic", "vdevices", "closure", "weights", "matmuls",
            "convolution", "duplicates", "sorted_values", "two_functions", "composite_main")  # fmt: skip


def results(module: Any, build: Any) -> list[Any]:
    return [build(module).call(name, materialize(module, name, 5)) for name in sorted(public_functions(module))]


def sample(name: str) -> Any:
    return sample_modules.MODULES[name]()


@pytest.mark.parametrize("name", RUNNABLE)
def test_cached_kernels_and_both_modes_give_the_bits_of_plain_relax_build(name: str, tmp_path: Path) -> None:
    module = sample(name)
    own = Session(DiskCache(tmp_path))
    bytecode = results(module, own.build)
    compiled = results(module, lambda m: own.build(m, ExecMode.COMPILED))
    assert compare(tuple(bytecode), tuple(compiled)) is None
    if cxx_available():
        for function, output in zip(sorted(public_functions(module)), bytecode, strict=True):
            plain = plain_build(module).call(function, materialize(module, function, 5))
            assert compare(plain, output) is None


def test_each_kernel_is_compiled_once_and_found_on_disk_by_the_next_process(tmp_path: Path) -> None:
    module = samples.elementwise()
    first = Session(DiskCache(tmp_path))
    first.build(module)
    compiled = first.kernels.compiled
    assert compiled == 2
    first.build(module)
    assert (first.kernels.compiled, first.kernels.from_memory) == (compiled, compiled)
    second = Session(DiskCache(tmp_path))
    second.build(module)
    # Both were compiled together, and what is found for one of them brings the other.
    assert (second.kernels.compiled, second.kernels.from_disk, second.kernels.from_memory) == (0, 1, 1)


def test_kernels_that_were_compiled_together_are_found_apart(tmp_path: Path) -> None:
    own = Session(DiskCache(tmp_path))
    own.build(samples.elementwise())
    x, y = samples.var("x"), samples.var("y")
    product = samples.function([x, y], lambda bb: bb.emit(samples.op.multiply(x, y)))
    later = Session(DiskCache(tmp_path))
    (first, second) = materialize(product, "main", 0)
    assert compare(first * second, later.build(product).call("main", [first, second])) is None
    assert (later.kernels.compiled, later.kernels.from_disk) == (0, 1)


def test_code_of_compiled_mode_is_linked_with_kernels_that_are_there(tmp_path: Path) -> None:
    module = samples.reduction()
    own = Session(DiskCache(tmp_path))
    expected = results(module, own.build)
    compiled = own.kernels.compiled
    assert compare(tuple(expected), tuple(results(module, lambda m: own.build(m, ExecMode.COMPILED)))) is None
    assert own.kernels.compiled == compiled
    whole = [path for path in tmp_path.rglob("*.o") if path.stat().st_nlink == 1]
    # The code of the virtual machine's functions alone, and from TVM 0.27 on the functions that check arguments.
    assert len(whole) == 1 + hasattr(tvm_ffi, "structural_map")
    later = Session(DiskCache(tmp_path))
    assert compare(tuple(expected), tuple(results(module, lambda m: later.build(m, ExecMode.COMPILED)))) is None
    assert later.kernels.compiled == 0


def test_a_damaged_object_file_is_built_again(tmp_path: Path) -> None:
    module = samples.elementwise()
    Session(DiskCache(tmp_path)).build(module)
    for path in tmp_path.rglob("*.o"):
        path.write_bytes(path.read_bytes()[:200])
    again = Session(DiskCache(tmp_path))
    assert again.build(module).call("main", materialize(module, "main", 0)) is not None
    assert again.kernels.compiled == 2


def test_loaded_kernels_are_bounded_and_programs_keep_theirs(tmp_path: Path) -> None:
    own = Session(DiskCache(tmp_path))
    own.kernels.limit = 3
    module = samples.elementwise()
    program, arguments = own.build(module), materialize(module, "main", 0)
    expected = program.call("main", arguments)
    for width in range(4, 10):
        own.build(samples.elementwise((2, width)))
    assert own.kernels.loaded == 2  # a third would come with a fourth
    assert compare(expected, program.call("main", arguments)) is None


def test_the_same_kernel_twice_in_a_module_is_no_clash() -> None:
    a = te.placeholder((2, 3), "float32")
    exp, tanh = (te.create_prim_func([a, f(a)]).without_attr("global_symbol") for f in (topi.exp, topi.tanh))
    bb, x = relax.BlockBuilder(), samples.var("x")
    one, two = bb.add_func(exp, "one"), bb.add_func(tanh, "two")
    with bb.function("main", [x]):
        calls = [bb.emit(relax.call_tir(kernel, [x], x.ty)) for kernel in (one, two)]
        bb.emit_func_output(relax.Tuple(calls))
    module = bb.finalize()
    module.update_func(module.get_global_var("two"), module["one"])
    (argument,) = materialize(module, "main", 0)
    first, second = session().build(module).call("main", [argument])
    assert np.array_equal(first, second)
    assert np.allclose(first, np.exp(argument), rtol=1e-5)


def test_results_do_not_change_when_a_program_overwrites_its_buffers() -> None:
    module = samples.elementwise()
    program = session().build(module)
    first = program.call("main", materialize(module, "main", 0))
    kept = np.array(first)
    program.call("main", materialize(module, "main", 1))
    assert np.array_equal(first, kept)


@pytest.mark.skipif(not cxx_available(), reason="needs a C++ compiler")
def test_the_judge_of_record_is_used_where_it_is_asked_for() -> None:
    ordinary = session()
    module = samples.elementwise()
    with judge_of_record():
        assert session() is not ordinary
        output = session().build(module).call("main", materialize(module, "main", 0))
    assert session() is ordinary
    assert compare(output, ordinary.build(module).call("main", materialize(module, "main", 0))) is None


LOWERING = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR", "RewriteDataflowReshape", "ToNonDataflow",
            "RemovePurityChecking", "CallTIRRewrite", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse",
            "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol")  # fmt: skip


@pytest.mark.parametrize("name", ["dataflow", "symbolic", "private_calls", "kernels"])
def test_the_reference_pipeline_finishes_a_module_from_every_stage(name: str) -> None:
    module = sample(name)
    expected = results(module, session().build)
    stage = module
    for passed in LOWERING:
        assert passed in CONTRACTS
        with tvm.target.Target("llvm"):
            stage = getattr(relax.transform, passed)()(stage)
        program = session().build(stage)
        for function, output in zip(sorted(public_functions(module)), expected, strict=True):
            assert compare(output, program.call(function, materialize(module, function, 5))) is None, passed


def calling_a_kernel(shape: tuple[int, ...]) -> Any:
    """A module that calls a kernel of its own on a constant."""
    a = te.placeholder(shape, "float32", name="a")
    kernel = te.create_prim_func([a, topi.add(a, 1.0)]).without_attr("global_symbol")
    constant = relax.const(np.ones(shape, "float32"), "float32")
    bb = relax.BlockBuilder()
    name = bb.add_func(kernel, "kernel")
    with bb.function("main", []):
        bb.emit_func_output(bb.emit(relax.call_tir(name, [constant], samples.TT(shape, "float32"))))
    return bb.finalize()


@pytest.mark.parametrize("shape", [(2, 3), (2, 0)])  # TVM cannot load the JSON of an empty constant with two rows
def test_constants_that_a_kernel_may_overwrite_are_copied(shape: tuple[int, ...]) -> None:
    module = calling_a_kernel(shape)
    copy = private_constants(module)
    ((before,), (after,)) = (each["main"].body.blocks[0].bindings for each in (module, copy))
    assert not after.value.args[1].fields[0].same_as(before.value.args[1].fields[0])
    assert compare(np.full(shape, 2, "float32"), session().build(copy).call("main", [])) is None


def test_constants_that_nothing_can_overwrite_are_not_copied() -> None:
    module = samples.with_constant()
    assert private_constants(module).same_as(module)


def test_a_module_without_constants_is_not_copied() -> None:
    module = samples.elementwise()
    assert private_constants(module).same_as(module)
