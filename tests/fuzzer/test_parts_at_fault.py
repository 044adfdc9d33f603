"""Parts of TVM that are no passes and at fault, each with a twin in which the pass that calls them is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from weighing import case_of, of_corpus, weighed

from fuzzer.core.case import Case
from fuzzer.triage.blame.behind import reader
from fuzzer.triage.blame.failed_case import FailedCase, unsound
from fuzzer.triage.blame.inside import _spoiling, nothing_else
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


def blamed(worker: IsolatedWorker, module: Any, judged: str, expression: str, oracle: OracleName) -> str:
    case = Case(str(tvm.ir.save_json(module)), (PassRef(judged, expression),), 0)
    return weighed(worker, case, oracle).blame


# The lowering of an operator, of which a call alone gets another type.


@I.ir_module
class Transposed:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @T.prim_func(private=True, s_tir=True)
    def transpose(x: T.Buffer((2, 2), "float32"), y: T.Buffer((2, 2), "float32")):
        for i, j in T.grid(2, 2):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vj, vi]

    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32", "llvm:1"):
        cls = Transposed
        lv: R.Tensor((2, 2), "float32", "llvm:1") = R.to_vdevice(x, "llvm:1")
        return R.call_tir(cls.transpose, (lv,), out_ty=R.Tensor((2, 2), "float32", "llvm:1"))


_RELAID = 'tvm.transform.module_pass(lambda mod, _: relaid(mod, "reversed"), opt_level=0, name="laid")'
_UNPLACED = """
import tvm
from tvm import relax

@relax.expr_functor.mutator
class Unplaced(relax.PyExprMutator):
    def visit_call_(self, call):
        if call.op.name != "relax.call_tir":
            return call
        return relax.Call(call.op, call.args, call.attrs, [relax.TensorType(call.ty.shape, call.ty.dtype)])

def unplaced():
    def run(module, _):
        mutator = Unplaced(module)
        made = module.clone()
        made.update_func(module.get_global_var("main"), mutator.visit_expr(module["main"]))
        return made
    return tvm.transform.module_pass(run, opt_level=0, name="unplaced")
"""


def test_a_lowering_that_loses_the_device_of_a_result_is_blamed_for_the_kernel_that_writes_it(
    worker: IsolatedWorker, tmp_path: Path
) -> None:
    part = blamed(worker, Transposed, "suggest_layout_transforms", _RELAID, OracleName.NUMERIC)
    assert part == "lowering of relax.layout_transform"
    (tmp_path / "unplaced.py").write_text(_UNPLACED)
    twin = blamed(worker, Transposed, "unplaced", f"user:{tmp_path / 'unplaced.py'}:unplaced", OracleName.NUMERIC)
    assert twin == "unplaced", "the pass itself loses it"


@I.ir_module
class Pooled:
    @R.function(private=True)
    def main(x: R.Tensor((1, 1, 2, 2), "int8")) -> R.Tensor((1, 1, 2, 2), "int8"):
        lv: R.Tensor((1, 1, 2, 2), "int8") = R.nn.avg_pool2d(x)
        lv1: R.Tensor((1, 1, 2, 2), "int8") = R.add(lv, x)
        return lv1


def test_a_lowering_to_another_dtype_is_blamed_for_what_the_next_call_raises(worker: IsolatedWorker) -> None:
    assert weighed(worker, case_of(Pooled, "LegalizeOps"), OracleName.CRASH).blame == "lowering of relax.nn.avg_pool2d"


@I.ir_module
class AttendedOnce:
    @R.function(private=True)
    def attended() -> R.Tensor((1, 1, 1, 1), "float16"):
        with R.dataflow():
            one = R.const([[[[1.0]]]], "float16")
            lv = R.nn.attention(one, one, one, scale=T.float32(0.5))
            R.output(lv)
        return lv

    @R.function
    def main() -> R.Tensor((1, 1, 1, 1), "float16"):
        return AttendedOnce.attended()


def test_a_lowering_is_blamed_for_the_dtype_of_what_is_folded(worker: IsolatedWorker) -> None:
    expression = "relax.transform.FoldConstant()"
    part = blamed(worker, AttendedOnce, "FoldConstant", expression, OracleName.WELL_FORMED)
    assert part == "lowering of relax.nn.attention"


@I.ir_module
class Counted:
    """TVM infers six elements of four, of which the lowering makes four."""

    @R.function(private=True)
    def main(x: R.Tensor((6,), "float32")) -> R.Tensor((6,), "float32"):
        lv = R.arange(2, -2, -1, dtype="float32")
        return R.add(lv, x)


def test_type_inference_is_blamed_where_the_lowering_is_right(worker: IsolatedWorker) -> None:
    assert weighed(worker, case_of(Counted, "LegalizeOps"), OracleName.CRASH).blame == "type inference of arange"


@I.ir_module
class Compared:
    @R.function
    def main(
        x: R.Tensor((1, 2, 2, 2), "float32"),
        x1: R.Tensor((2,), "float32"),
        x2: R.Tensor((1, 2), "int64"),
        x3: R.Tensor((2, 2, 1, 1), "float32"),
    ) -> R.Tensor((1, 2, 2, 2), "bool"):
        with R.dataflow():
            lv: R.Tensor((2,), "float32") = R.abs(x1)
            lv1 = R.index_tensor(lv, (x2,))
            lv2: R.Tensor((1, 2, 2, 2), "float32") = R.nn.conv2d(x, x3)
            lv3: R.Tensor((1, 2, 2, 2), "bool") = R.greater(lv2, R.const(1.0, "float32"))
            R.output(lv1, lv3)
        return lv3


def test_a_lowering_is_blamed_for_a_call_that_a_pass_before_it_has_made(worker: IsolatedWorker) -> None:
    expression = 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})'
    part = blamed(worker, Compared, "ConvertLayout", expression, OracleName.NUMERIC)
    assert part == "lowering of relax.layout_transform"


# What generates kernels.


@I.ir_module
class Remainder:
    @R.function
    def main(x: R.Tensor((8,), "float8_e4m3fn")) -> R.Tensor((8,), "float8_e4m3fn"):
        lv: R.Tensor((8,), "float8_e4m3fn") = R.floor_mod(x, R.const(2.0, "float8_e4m3fn"))
        return lv


def test_the_conversion_of_float8_is_blamed_for_what_an_operator_makes_of_operands_that_it_casts_wrongly(
    worker: IsolatedWorker,
) -> None:
    """Generated C gives what is documented, too, but only because the error cancels there."""
    part = weighed(worker, case_of(Remainder, "LegalizeOps"), OracleName.NUMERIC).blame
    assert part == "float8 conversion of TIR"


@I.ir_module
class Multiplied:
    @R.function
    def main(
        x: R.Tensor((4,), "float32"), x1: R.Tensor((1, "k"), "float32"), x2: R.Tensor(("k", 1), "float32")
    ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((1, 1), "float32")):
        k = T.int64()  # noqa: F841  # the parser reads it
        with R.dataflow():
            lv: R.Tensor((4,), "float32") = R.sort(x)
            lv1: R.Tensor((1, 1), "float32") = R.matmul(x1, x2)
            R.output(lv, lv1)
        return (lv, lv1)


def test_the_maker_of_kernels_is_blamed_for_sums_over_no_elements_of_a_call_that_is_lowered_later(
    worker: IsolatedWorker,
) -> None:
    part = blamed(worker, Multiplied, "DispatchSortScan", "relax.backend.DispatchSortScan()", OracleName.NUMERIC)
    assert part == "te.create_prim_func"


# What reads modules.


@I.ir_module
class Empty:
    @R.function
    def main(x: R.Tensor((2, 0), "float32")) -> R.Tensor((2, 0), "float32"):
        return x


def test_who_reads_a_tensor_is_blamed_for_one_that_it_does_not_read(worker: IsolatedWorker) -> None:
    expression = 'relax.transform.BindParams("main", {"x": np.ones((2, 0)).astype("float32")})'
    assert blamed(worker, Empty, "BindParams", expression, OracleName.ROUNDTRIP) == "runtime::Tensor::Load"
    sound = FailedCase(case_of(Empty, "Normalize"), Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, "JSON"))
    assert reader(sound) is None, "it reads what it has written"


# What runs inside of a pass, or is asked by one.


@I.ir_module
class Negated:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        lv: R.Tensor((1,), "float32") = R.negative(x)
        lv1: R.Tensor((1,), "float32") = R.negative(lv)
        lv2: R.Tensor((1,), "float32") = R.add(lv1, lv)
        return lv2


_PATTERNS = """(lambda rewriter: tvm.transform.module_pass(lambda mod, _: rewriter(mod), opt_level=0,
name="PatternMatchingRewriter"))(relax.dpl.PatternMatchingRewriter.from_module(tvm.script.from_source('''
@I.ir_module
class Rewriter:
    @R.function
    def pattern(x: R.Tensor("float32")):
        return R.negative(R.negative(x))

    @R.function
    def replacement(x: R.Tensor("float32")):
        return x
''')))"""


def test_the_elimination_is_not_blamed_for_what_it_is_given(worker: IsolatedWorker) -> None:
    part = blamed(worker, Negated, "PatternMatchingRewriter", _PATTERNS, OracleName.NUMERIC)
    assert part == "PatternMatchingRewriter"


def chosen() -> Any:
    """Return a module in which a local function has an ``If`` of a type of its caller's dims."""
    n = tvm.tirx.Var("n", "int64")
    types = [relax.TensorType([n], "float32"), relax.TensorType((1,), "float32"), relax.TensorType(ndim=1)]
    x, x1, x2 = params = [relax.Var(f"x{at}", ty) for at, ty in enumerate(types)]
    builder, joined = relax.BlockBuilder(), relax.TupleType([x.ty, x2.ty])
    one, other = (builder.normalize(relax.Tuple(each)) for each in ([x, x2], [x, x]))
    computed = relax.Var("computed", x1.ty)
    choice = typed(
        relax.If(
            relax.const(True), body_of([], one), body_of([(computed, builder.normalize(relax.op.abs(x1)))], other)
        ),
        joined,
    )
    inner = relax.Function([], body_of([(relax.Var("lv", joined), choice)], x1), x1.ty)
    main = relax.Function(params, body_of([(relax.Var("inner", inner.ty), inner)], x1), x1.ty)
    return tvm.IRModule({"main": main.with_attr("global_symbol", "main")})


def body_of(bound: list[tuple[Any, Any]], result: Any) -> Any:
    blocks = [relax.BindingBlock([relax.VarBinding(var, value) for var, value in bound])] if bound else []
    return typed(relax.SeqExpr(blocks, result), result.ty)


def typed(expr: Any, ty: Any) -> Any:
    relax.expr._update_type(expr, ty)
    return expr


def test_the_block_builder_is_blamed_for_what_rebuilding_does_and_not_the_pass_that_rebuilds(
    worker: IsolatedWorker,
) -> None:
    assert weighed(worker, case_of(chosen(), "EliminateCommonSubexpr"), OracleName.WELL_FORMED).blame == "block builder"


@I.ir_module
class Unseen:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            lv: R.Tensor("float32", ndim=1) = R.nn.gelu_tanh(x)
            _lv1 = R.match_cast(lv, R.Tensor((1,), "float32"))
            lv2: R.Tensor((1,), "float32") = R.sign(x)
            R.output(lv2)
        return lv2


@I.ir_module
class TwoBlocks:
    @R.function
    def main(x: R.Tensor((1,), "float32"), x1: R.Tensor((), "bool")) -> R.Tensor((1,), "float32"):
        if x1:
            with R.dataflow():
                lv: R.Tensor((1,), "float32") = R.abs(x)
                R.output(lv)
            lv1: R.Tensor((1,), "float32") = x
        else:
            lv1: R.Tensor((1,), "float32") = x
        with R.dataflow():
            lv2: R.Tensor((1,), "float32") = R.abs(lv1)
            R.output(lv2)
        return lv2


@I.ir_module
class Replaced:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            _lv = R.abs(x)
            lv1 = R.sin(x)
            lv2: R.Tensor("float32", ndim=1) = R.exp(lv1)
            lv3 = R.match_cast(lv2, R.Tensor((1,), "float32"))
            R.output(lv3)
        return lv3


_EDIT = """relax.transform.function_pass(lambda f, mod, _: next(([edit := relax.DataflowBlockRewrite(k, f), {edit},
edit.mutated_root_fn()][-1] for k in f.body.blocks if isinstance(k, relax.DataflowBlock) for b in k.bindings
if isinstance(b.value, relax.Call){when}), f), opt_level=0, name="DataflowBlockRewrite")"""


@pytest.mark.parametrize(
    ("module", "edit", "when", "part"),
    [
        (
            Unseen,
            "edit.remove_unused(b.var)",
            " and not relax.analysis.udchain(k)[b.var] and isinstance(b.var, relax.DataflowVar)",
            "relax.analysis.udchain",
        ),
        (TwoBlocks, "edit.add(b.value)", "", "DataflowBlockRewrite"),
        # The old lv2 stays in the cast, of which the analysis knows nothing: nobody asks it.
        (
            Replaced,
            "edit.replace_all_uses(b.value.args[0], k.bindings[0].var)",
            " and b.value.args[0] in [each.var for each in k.bindings[1:]]",
            "DataflowBlockRewrite",
        ),
    ],
)
def test_an_analysis_is_blamed_where_it_is_wrong_of_the_variable(
    worker: IsolatedWorker, module: Any, edit: str, when: str, part: str
) -> None:
    expression = _EDIT.format(edit=edit, when=when)
    assert blamed(worker, module, "DataflowBlockRewrite", expression, OracleName.WELL_FORMED) == part


@I.ir_module
class Taken:
    @R.function
    def main(x: R.Tensor((1, 1, 1), "float32"), x1: R.Tensor("int64", ndim=1)) -> R.Tensor("float32", ndim=3):
        lv: R.Tensor("float32", ndim=3) = R.take(x, x1, axis=0)
        lv1: R.Tensor("float32", ndim=3) = R.matmul(x, lv)
        return lv1


def test_type_inference_is_blamed_for_a_call_that_the_pass_makes(worker: IsolatedWorker) -> None:
    found = weighed(worker, case_of(Taken, "ReorderTakeAfterMatmul"), OracleName.WELL_FORMED)
    assert found.blame == "type inference of einsum"


# What a pass takes away, leaves as it was, or has from a function that it calls.


def of_a_users_pass(worker: IsolatedWorker, module: Any, name: str, text: str, place: Path, oracle: OracleName) -> str:
    (place / f"{name}.py").write_text(text)
    return blamed(worker, module, name, f"user:{place / f'{name}.py'}:{name}", oracle)


_FORGETFUL = """
import tvm
from tvm import relax


def forgetful():
    return tvm.transform.module_pass(lambda module, _: tvm.IRModule({functions}), opt_level=0, name="forgetful")


def transposed():
    x, builder = relax.Var("x", relax.TensorType((2, 2), "bool")), relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.layout_transform(x, lambda i, j: (j, i))))
    return builder.get().functions
"""


@I.ir_module
class Hinted:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.hint_on_device(x, R.device(device_type=1, index=0), "global")


@I.ir_module
class Listed:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function
    def main(x: R.Tensor((2, 2), "bool")) -> R.Tensor((2, 2), "bool"):
        return x


@pytest.mark.parametrize(
    ("module", "functions", "part"),
    [
        (Hinted, "module.functions", "forgetful"),
        (Listed, "transposed()", "lowering of relax.layout_transform"),
    ],
)
def test_who_takes_away_what_a_call_needs_is_blamed_and_not_its_lowering(
    worker: IsolatedWorker, tmp_path: Path, module: Any, functions: str, part: str
) -> None:
    text = _FORGETFUL.format(functions=functions)
    assert of_a_users_pass(worker, module, "forgetful", text, tmp_path, OracleName.NUMERIC) == part


@I.ir_module
class Stale:
    """``uint32`` becomes ``int64``; FuseTIR gives ``f1`` another name, which knows."""

    @R.function(private=True)
    def f1(x: R.Tensor((1,), "uint32"), x1: R.Tensor((2,), "float32")) -> R.Tensor((), "uint32"):
        return R.variance(x)

    @R.function
    def main(x: R.Tensor((1,), "uint32"), x1: R.Tensor((2,), "float32")) -> R.Tensor((), "uint32"):
        cls = Stale
        return cls.f1(x, x1)


@I.ir_module
class Shown:
    """ExpandTupleArguments infers the type of the call in ``main`` anew."""

    @R.function(private=True)
    def f1(x: R.Tuple(R.Tensor((1,), "uint32"))) -> R.Tensor((), "uint32"):
        return R.variance(x[0])

    @R.function
    def main(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        cls = Shown
        return cls.f1((x,))


_UNDEFINES = """
import tvm
from tvm import relax


def undefines():
    def run(module, _):
        var, main = next(each for each in module.functions_items() if each[0].name_hint == "main")
        body = relax.SeqExpr([], relax.Var("nowhere", main.ret_ty))
        module[var] = relax.Function(main.params, body, main.ret_ty, attrs=main.attrs)
        return module

    passes = [relax.transform.LegalizeOps(), tvm.transform.module_pass(run, opt_level=0, name="run")]
    return tvm.transform.Sequential(passes, name="undefines")
"""


def test_the_lowering_is_blamed_for_the_call_that_it_leaves_stale_and_not_who_shows_it(
    worker: IsolatedWorker, tmp_path: Path
) -> None:
    zero, form = 'relax.get_pipeline("zero")', OracleName.WELL_FORMED
    assert blamed(worker, Stale, "build:zero", zero, form) == "lowering of relax.variance"
    assert blamed(worker, Shown, "build:zero", zero, form) == "lowering of relax.variance"
    assert of_a_users_pass(worker, Stale, "undefines", _UNDEFINES, tmp_path, form) == "undefines"


@I.ir_module
class Resized:
    @R.function
    def main(x: R.Tensor((1, 1, 1, 1), "float32")) -> R.Tensor((1, 1, 1, 1), "float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, x)
            lv1 = R.image.resize2d(lv, R.shape([1, 1]), layout="NCHW")
            R.output(lv1)
        return lv1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ('{"relax.nn.conv2d": ["HWNC", "HWIO"]}', "relax.image.resize2d (its FRelaxInferLayout)"),
        (
            '{}, layout_cb=lambda call: {"relax.nn.conv2d": ["HWNC", "HWIO"]}',
            "relax.image.resize2d (its FRelaxInferLayout)",
        ),
        ('{"relax.image.resize2d": ["HWNC"]}', "lowering of relax.image.resize2d"),
        ('{}, layout_cb=lambda call: {"relax.image.resize2d": ["HWNC"]}', "lowering of relax.image.resize2d"),
    ],
)
def test_the_layout_rule_is_blamed_for_a_layout_that_nobody_has_asked_for(
    worker: IsolatedWorker, arguments: str, part: str
) -> None:
    expression = f"relax.transform.ConvertLayout({arguments})"
    assert blamed(worker, Resized, "ConvertLayout", expression, OracleName.NUMERIC) == part


@I.ir_module
class Recursive:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 1})

        @R.function
        def lv(x1: R.Tensor((), "int32"), x2: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            lv1: R.Tensor((1,), "float32") = lv(x1, x2)
            return lv1

        return x


def test_the_copying_of_functions_is_blamed_for_what_it_does_by_itself(worker: IsolatedWorker) -> None:
    found = weighed(worker, case_of(Recursive, "LiftTransformParams"), OracleName.WELL_FORMED)
    assert found.blame == "relax.utils.copy_with_new_vars"
    assert "LiftTransformParams runs it" in found.grounds
    assert of_corpus(worker, "inline-private-symbolic").blame == "InlinePrivateFunctions"


def declared(x: Any, values: list[Callable[[Any], Any]], types: list[Any]) -> Any:
    """Return a module that computes one value of the other, with declared types; ``None`` for what is inferred."""
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        last = x
        for at, (value, ty) in enumerate(zip(values, types, strict=True)):
            made = builder.normalize(value(last))
            last = relax.Var(f"lv{at}", ty or made.ty)
            cast = ty is not None and isinstance(made, relax.Var)
            builder.emit_normalized(relax.MatchCast(last, made, ty) if cast else relax.VarBinding(last, made))
        builder.emit_func_output(last)
    return builder.get()


_PLANE, _LINE = R.Tensor((1, 1), "float32"), R.Tensor((1,), "float32")
_SCALAR = relax.Var("x", R.Tensor((), "float32"))


def _turned(x: Any) -> Any:
    return relax.op.layout_transform(x, lambda i, j: (j, i))


@I.ir_module
class Branching:
    @R.function(private=True)
    def main(x: R.Tensor(("n",), "float32"), x1: R.Tensor((), "bool")) -> R.Tuple(
        R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")
    ):
        n = T.int64()
        if x1:
            lv1 = x, x
        else:
            with R.dataflow():
                lv = R.match_cast(x, R.Tensor((n,), "float32"))
                R.output(lv)
            lv1 = x, x
        return lv1


def test_the_rewriter_is_blamed_for_what_a_second_run_changes_where_the_pass_does_nothing_else(
    worker: IsolatedWorker,
) -> None:
    found = weighed(worker, case_of(Branching, "ReorderTakeAfterMatmul"), OracleName.IDEMPOTENCE)
    assert found.blame == "relax.dpl.rewrite_call"
    assert "does the same to the module by itself" in found.grounds


@I.ir_module
class Idle:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            _lv = R.abs(x)
            lv1 = R.sin(x)
            R.output(lv1)
        return lv1


def test_what_does_the_same_in_the_first_run_alone_is_not_blamed() -> None:
    name, drop = "DeadCodeElimination", relax.transform.DeadCodeElimination()
    binds = relax.transform.BindParams("main", {"x": np.ones(1, "float32")})
    step = SimpleNamespace(ref=SimpleNamespace(name="Judged"), contract=SimpleNamespace(inside=(name,)))
    for built, part in ((drop, name), (binds, None)):
        failed: Any = SimpleNamespace(step=step, given=Idle, made=drop(Idle), built=built)
        assert getattr(nothing_else(failed), "name", None) == part


def test_no_pass_inside_is_blamed_for_a_module_that_was_wrong_before() -> None:
    undefined = relax.Var("y", relax.TensorType((1,), "float32"))
    function = relax.Function([], relax.SeqExpr([], undefined), undefined.ty).with_attr("global_symbol", "main")
    module = tvm.IRModule({"main": function})
    assert unsound(module)
    assert unsound(relax.transform.DeadCodeElimination()(module))
    assert _spoiling(["DeadCodeElimination"], module) == ""


@I.ir_module
class Split:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.abs(x)

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tuple(R.Tensor((1,), "float32"), R.Tensor((1,), "float32")):
        cls = Split
        with R.dataflow():
            lv = R.abs(x)
            lv1 = cls.f1(x)
            lv2 = R.abs(lv)
            R.output(lv1, lv2)
        return (lv1, lv2)


_INLINES = """relax.transform.function_pass(lambda f, mod, _: f.inline_functions({var: mod[var] for var in
relax.analysis.all_global_vars(f)}), opt_level=0, name="inline_functions")"""


@I.ir_module
class Forced:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"relax.force_pure": True})
        return R.call_packed("testing.echo", x, ty_args=(R.Tensor((1,), "float32"),))

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return Forced.f1(x)


@pytest.mark.parametrize(
    ("module", "judged", "part"),
    [
        (Split, "inline_functions", "block builder"),
        # The body of a function that is forced to be pure may not stand in another.
        (Forced, "inline_functions", "inline_functions"),
        (Split, "FoldConstant", "FoldConstant"),  # which inlines nothing
    ],
)
def test_the_block_builder_is_blamed_for_a_block_that_it_splits_for_a_body(
    worker: IsolatedWorker, module: Any, judged: str, part: str
) -> None:
    assert blamed(worker, module, judged, _INLINES, OracleName.WELL_FORMED) == part


@pytest.mark.parametrize(
    ("judged", "module", "part"),
    [
        (  # clip(x) stands in the place of lv3, and is merged with lv0, of which less is declared
            "OptimizeLayoutTransform",
            declared(
                relax.Var("x", _PLANE),
                [lambda x: relax.op.clip(x, 0, 1), _turned, lambda x: x, _turned, relax.op.negative],
                [R.Tensor("float32", ndim=2), R.Tensor("float32", ndim=2), _PLANE, _PLANE, _PLANE],
            ),
            "EliminateCommonSubexpr",
        ),
        (  # what is matched is the value of a cast before the cast
            "RemoveRedundantReshape",
            declared(
                relax.Var("x", _LINE),
                [relax.op.abs, lambda x: x, lambda x: relax.op.reshape(x, (1,)), relax.op.sin],
                [relax.TensorType(dtype=""), _LINE, _LINE, R.Tensor((1,))],
            ),
            "relax.dpl.rewrite_call",
        ),
        (  # the two comparisons are merged, before what is computed of them fails elsewhere
            "OptimizeLayoutTransform",
            declared(
                _SCALAR,
                [*[lambda _: relax.op.greater(_SCALAR, relax.const(0.0))] * 2, lambda x: relax.op.logical_or(x, x)],
                [R.Tensor("bool"), R.Tensor((), "bool"), relax.TensorType((), "")],
            ),
            "EliminateCommonSubexpr",
        ),
    ],
)
def test_the_rewriter_is_blamed_only_where_the_same_value_is_misread(
    worker: IsolatedWorker, judged: str, module: Any, part: str
) -> None:
    assert weighed(worker, case_of(module, judged), OracleName.WELL_FORMED).blame == part


def test_the_elimination_is_blamed_where_what_it_shares_is_computed_of_what_is_rebuilt(worker: IsolatedWorker) -> None:
    x, x1 = relax.Var("x", R.Tensor((1, 1, 1), "float32")), relax.Var("x1", R.Tensor((1,), "int64"))
    lv, lv2 = (relax.Var(name, relax.TensorType((1, 1, 1), "")) for name in ("lv", "lv2"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, x1]):
        builder.emit_normalized(relax.VarBinding(lv, builder.normalize(relax.op.nn.silu(x))))
        lv1 = builder.emit(relax.op.take(x, x1, axis=0))
        builder.emit_normalized(relax.VarBinding(lv2, builder.normalize(relax.op.matmul(lv, lv1))))
        builder.emit_func_output(lv2)
    found = weighed(worker, case_of(builder.get(), "ReorderTakeAfterMatmul"), OracleName.WELL_FORMED)
    assert found.blame == "EliminateCommonSubexpr"


@I.ir_module
class Contracted:
    @R.function
    def main(x: R.Tensor((1, 1, 1, 1), "float32")) -> R.Tensor((1, 1, 1), "float32"):
        return R.einsum((x,), subscripts="ijik->ijk")


_MISDECLARES = """
import tvm
from tvm import relax


def misdeclares():
    def run(function, module, _):
        lv = relax.Var("lv", relax.TensorType((1, 1, 1), "{dtype}"))
        builder = relax.BlockBuilder()
        made = builder.normalize(relax.op.abs(function.body.body))
        block = relax.BindingBlock([relax.VarBinding(lv, made)])
        body = relax.SeqExpr([*function.body.blocks, block], function.body.body)
        return relax.Function(function.params, body, function.ret_ty, attrs=function.attrs)

    return relax.transform.function_pass(run, opt_level=0, name="misdeclares")
"""


def test_no_type_inference_is_blamed_for_types_that_differ_in_something_else(
    worker: IsolatedWorker, tmp_path: Path
) -> None:
    """That of ``einsum`` is wrong about the rank for operands of unknown shape, of which there are none."""
    text = _MISDECLARES.format(dtype="float16")
    form = OracleName.WELL_FORMED
    assert of_a_users_pass(worker, Contracted, "misdeclares", text, tmp_path, form) == "misdeclares"
