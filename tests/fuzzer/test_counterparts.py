"""Failures of a program with a rare construct, which an ordinary counterpart shows as well; and twins that need it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from weighing import case_of, weighed

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Rarity, Severity
from fuzzer.triage.questions import (
    rare,
    with_direct_calls,
    with_packed_functions,
    without_closures,
    without_local_functions,
)
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


@I.ir_module
class Called:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        @R.function
        def inner(x1: R.Tensor("float32", ndim=1)) -> R.Tensor((1,), "float32"):
            lv = R.match_cast(x1, R.Tensor((1,), "float32"))
            return R.subtract(lv, lv)

        lv1: R.Tensor((1,), "float32") = inner(x)
        lv2: R.Tensor((1,), "float32") = inner(lv1)
        return lv2


@I.ir_module
class Uncalled:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        @R.function
        def inner(x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            lv: R.Tensor((1,)) = R.match_cast(x1, R.Tensor((1,)))
            lv1: R.Tensor((1,)) = R.erf(lv)  # noqa: F841  # the pass rewrites it
            return x1

        return x


@I.ir_module
class Recursive:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        @R.function
        def inner(x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            return inner(x1)

        lv: R.Tensor((1,), "float32") = inner(x)
        return lv


@I.ir_module
class Returned:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Callable((), R.Tensor((1,), "float32"), True):
        @R.function
        def inner() -> R.Tensor((1,), "float32"):
            return x

        return inner


@I.ir_module
class Made:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.add(x, x1)

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Made
        lv = R.make_closure(cls.f1, (x,))
        lv1: R.Tensor((1,), "float32") = R.invoke_pure_closure(lv, (x,), ty_args=R.Tensor((1,), "float32"))
        return lv1


def test_the_body_of_a_local_function_stands_once_in_its_caller() -> None:
    sketch = take(Called)
    without_local_functions(sketch)
    made = emit(sketch)
    assert relax.analysis.check_well_formed(made)
    assert len(made["main"].params) == 2
    assert "def inner" not in made.script()
    assert made.script().count("R.subtract(") == 1


def test_what_a_local_function_gives_stands_for_one_that_is_a_value() -> None:
    sketch = take(Returned)
    without_local_functions(sketch)
    made = emit(sketch)
    assert "def inner" not in made.script()
    assert isinstance(made["main"].ret_ty, relax.TensorType)


def test_a_local_function_that_calls_itself_has_no_body_to_put_in_its_place() -> None:
    with pytest.raises(Invalid):
        without_local_functions(take(Recursive))


@pytest.mark.parametrize(("module", "calls"), [(Called, 3), (Returned, 1), (Recursive, 2)])
def test_packed_functions_stand_for_local_functions(module: Any, calls: int) -> None:
    sketch = take(module)
    with_packed_functions(sketch)
    made = emit(sketch)
    assert "def inner" not in made.script()
    assert "R.Callable" not in made.script()
    assert made.script().count('R.call_pure_packed("closure"') == calls


def test_the_packed_function_for_a_local_one_takes_what_that_mentions() -> None:
    sketch = take(Returned)
    with_packed_functions(sketch)
    assert 'R.call_pure_packed("closure", x, ' in emit(sketch).script()


def test_packed_functions_stand_for_closures() -> None:
    sketch = take(Made)
    without_closures(sketch)
    made = emit(sketch)
    assert relax.analysis.check_well_formed(made)
    assert "closure(" not in made.script().replace('"closure"', "")
    assert made.script().count('R.call_pure_packed("closure"') == 2


@I.ir_module
class Effects:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x

    @R.function(pure=False)
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Effects
        lv: R.Any = R.make_closure(cls.f1, (x,))
        lv1: R.Any = R.invoke_closure(lv, R.tuple(), ty_args=R.Any)  # noqa: F841  # the call has effects
        with R.dataflow():
            lv2: R.Tensor((1,), "float32") = R.abs(x)
            R.output(lv2)
        return lv2


def test_packed_functions_have_effects_where_the_calls_of_closures_have_some() -> None:
    sketch = take(Effects)
    without_closures(sketch)
    text = emit(sketch).script()
    assert text.count('R.call_pure_packed("closure"') == 1  # where the closure is made
    assert text.count('R.call_packed("closure"') == 1


@I.ir_module
class Unused:
    @R.function(private=True)
    def f1(x: R.Tensor((2,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, x1)

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Any:
        cls = Unused
        lv: R.Any = R.make_closure(cls.f1, (x,))
        return lv


@I.ir_module
class Bound:
    @R.function(private=True)
    def f1(x: R.Tensor((2,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, x1)

    @R.function
    def main(x: R.Tensor((2,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Bound
        lv = R.make_closure(cls.f1, (x1,))  # the virtual machine appends what is bound
        lv1: R.Tensor((2,), "float32") = R.invoke_pure_closure(lv, (x,), ty_args=R.Tensor((2,), "float32"))
        return lv1


@pytest.mark.parametrize(("module", "params"), [(Made, 1), (Bound, 2), (Unused, 2)])
def test_direct_calls_stand_for_closures(module: Any, params: int) -> None:
    sketch = take(module)
    with_direct_calls(sketch)
    made = emit(sketch)
    assert relax.analysis.check_well_formed(made)
    assert "closure" not in made.script()
    assert made.script().count("cls.f1(") == 1
    assert len(made["main"].params) == params


def test_a_closure_is_not_needed_where_a_direct_call_fails_as_well(worker: IsolatedWorker) -> None:
    """UpdateParamType leaves calls of the old function, of whichever kind."""
    text = "relax.transform.UpdateParamType(lambda var: relax.TensorType(dtype=var.ty.dtype, ndim=var.ty.ndim))"
    case = Case(str(tvm.ir.save_json(Unused)), (PassRef("UpdateParamType", text),), 0)
    found = weighed(worker, case, OracleName.WELL_FORMED)
    assert "closures" not in found.reason
    assert found.severity is Severity.S3


def test_a_local_function_is_not_needed_where_its_body_fails_as_well(worker: IsolatedWorker) -> None:
    found = weighed(worker, case_of(Uncalled, "FastMathTransform"), OracleName.CRASH)
    assert (found.severity, found.reason) == (Severity.S3, "")


@I.ir_module
class Weighted:
    @R.function
    def main(x: R.Tensor((1,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 1})
        lv: R.Tensor((1,), "float32") = R.abs(x1)

        @R.function
        def inner(x2: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            return R.add(x2, x1)

        return lv


def test_a_local_function_is_needed_where_its_body_does_not_fail(worker: IsolatedWorker) -> None:
    found = weighed(worker, case_of(Weighted, "BundleModelParams"), OracleName.WELL_FORMED)
    assert found.severity is Severity.S4, found
    assert str(Rarity.LOCAL_FUNCTIONS) in found.reason


def rewrites(module: Any, *edits: str) -> Case:
    """A case that edits the first dataflow block with a call, with ``DataflowBlockRewrite``; ``b`` is the last call."""
    made = ", ".join(["edit := relax.DataflowBlockRewrite(k, f)", *edits, "edit.mutated_root_fn()"])
    text = (
        f"relax.transform.function_pass(lambda f, mod, _: next(([{made}][-1] for k in f.body.blocks "
        "if isinstance(k, relax.DataflowBlock) for b in reversed(k.bindings) if isinstance(b.value, relax.Call)), f), "
        "opt_level=0)"
    )
    return Case(str(tvm.ir.save_json(module)), (PassRef("DataflowBlockRewrite", text),), 0)


@I.ir_module
class Mentioned:
    """What a binding that is added mentions is taken for unused, whatever it is."""

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():

            @R.function
            def inner() -> R.Tensor((1,), "float32"):
                return x

            lv1: R.Tensor((1,), "float32") = inner()  # noqa: F841  # it is added again
            R.output()
        return x


@I.ir_module
class Blocks:
    """Each dataflow block but the edited one becomes a copy of that one."""

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tuple(
        R.Tensor((1,), "float32"), R.Callable((R.Tensor((1,), "float32"),), R.Tensor((1,), "float32"), True)
    ):
        with R.dataflow():
            lv1 = R.abs(x)
            R.output(lv1)

        @R.function
        def inner(x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            with R.dataflow():
                lv2 = R.abs(x1)
                R.output(lv2)
            return lv2

        return (lv1, inner)


_ADDED, _REMOVED = 'edit.add(b.value, "again", True)', "edit.remove_all_unused()"


@pytest.mark.parametrize(
    ("module", "edits"), [(Mentioned, (_ADDED, _REMOVED)), (Blocks, (_ADDED,)), (Effects, (_REMOVED,))]
)
def test_what_an_ordinary_program_loses_as_well_needs_neither_closures_nor_local_functions(
    worker: IsolatedWorker, module: Any, edits: tuple[str, ...]
) -> None:
    found = weighed(worker, rewrites(module, *edits), OracleName.WELL_FORMED)
    assert (found.severity, found.reason) == (Severity.S3, "")


def test_another_error_of_the_same_pass_shows_nothing(worker: IsolatedWorker) -> None:
    """MergeCompositeFunctions fails on whatever is no call of an operator, each time for a reason of its own."""
    found = weighed(worker, case_of(Returned, "MergeCompositeFunctions"), OracleName.CRASH)
    assert (found.severity, found.reason) == (Severity.S4, f"needs {Rarity.LOCAL_FUNCTIONS}")


@I.ir_module
class Captured:
    """A storage is allocated behind the first value that a graph captures."""

    @R.function(private=True)
    def f2(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"relax.force_pure": True})
        return x

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Captured
        impure = R.call_packed("planted", x, ty_args=R.Tensor((1,), "float32"))  # noqa: F841  # needs forced purity
        closure = R.make_closure(cls.f2, (R.const([1.0], "float32"),))  # noqa: F841  # the first value
        storage = R.memory.alloc_storage(R.shape([4]), 0, R.str("global"), R.dtype("float32"))
        alloc: R.Tensor((1,), "float32") = R.memory.alloc_tensor(  # noqa: F841  # what makes a region
            storage, 0, R.shape([1]), R.dtype("float32"), 0
        )
        return x


def test_neither_a_closure_nor_purity_that_the_pipeline_forces_is_needed(worker: IsolatedWorker) -> None:
    expression = 'configured(relax.transform.RewriteCUDAGraph(), {"relax.backend.use_cuda_graph": True})'
    case = Case(str(tvm.ir.save_json(Captured)), (PassRef("RewriteCUDAGraph", expression),), 0)
    found = weighed(worker, case, OracleName.WELL_FORMED)
    assert (found.severity, found.reason) == (Severity.S3, "")


@I.ir_module
class Varied:
    @R.function(private=True)
    def f1(x: R.Tensor((2,), "uint32")) -> R.Tensor((), "uint32"):
        return R.variance(x)

    @R.function
    def main(x: R.Tensor((2,), "uint32")) -> R.Tensor((), "uint32"):
        cls = Varied
        lv: R.Tensor((), "uint32") = cls.f1(x)
        return lv


def test_a_lowering_to_another_dtype_is_silently_wrong(worker: IsolatedWorker) -> None:
    found = weighed(worker, case_of(Varied, "LegalizeOps"), OracleName.WELL_FORMED)
    assert (found.blame, found.severity) == ("lowering of relax.variance", Severity.S1)


@I.ir_module
class Fused:
    @R.function(private=True)
    def fused_relax_abs_planted(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Fused
        with R.dataflow():
            lv: R.Tensor((1,), "float32") = R.abs(x)
            lv1: R.Tensor((1,), "float32") = cls.fused_relax_abs_planted(lv)
            R.output(lv1)
        return lv1


def test_what_other_names_mend_needs_a_name_that_the_pass_gives(worker: IsolatedWorker) -> None:
    pattern = '[("planted.abs", is_op("relax.abs")(wildcard()))]'
    expression = f"relax.transform.FuseOpsByPattern({pattern}, annotate_codegen=True)"
    case = Case(str(tvm.ir.save_json(Fused)), (PassRef("FuseOpsByPattern", expression),), 0)
    found = weighed(worker, case, OracleName.WELL_FORMED)
    assert (found.severity, found.reason) == (Severity.S4, f"needs {Rarity.NAMES}")


def test_a_local_function_is_not_needed_where_a_call_of_another_function_fails_as_well(worker: IsolatedWorker) -> None:
    """AnnotateCustomMemoryScope takes whatever is called for an operator."""
    (known,) = load(["adreno-call-of-variable"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    assert Rarity.LOCAL_FUNCTIONS in rare(case)
    found = weighed(worker, case, known.oracle)
    assert (found.severity, found.reason) == (Severity.S3, "")
