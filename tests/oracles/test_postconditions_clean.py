# ruff: noqa: F841, RET504 -- the samples are TVMScript, not Python
# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""Postconditions of the passes that clean up: what each does satisfies them, and doing nothing does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import sample_modules as samples
import tvm
from claims_of_passes import assert_claims, ran, said
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from verdict_rows import tensor

from relaxkit.passes.claims.clean import projection_left
from relaxkit.passes.claims.restructure import _brings_dims
from relaxkit.passes.contract import (
    Ran,
)


def messy() -> Any:
    """Aliases, projections, equal calls, dead bindings, kernels and functions that nothing calls, a tuple parameter."""

    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def unused_kernel(a: T.Buffer((4,), "float32")):
            T.evaluate(0)

        @R.function(private=True)
        def unused(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.exp(x)
            return y

        @R.function(private=True)
        def helper(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")), p: R.Tensor((4,), "float32")):
            a = t[0]
            b = t[1]
            c = R.add(a, b)
            d = R.abs(c)
            return (c, d)

        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Module
            with R.dataflow():
                alias = x
                pair = (alias, y)
                first = pair[0]
                one = R.exp(first)
                two = R.exp(first)
                dead = R.tanh(y)
                both = R.multiply(one, two)
                seen = R.negative(both)
                R.output(seen)
            results = cls.helper((seen, y), x)
            only = results[0]
            same = R.reshape(only, R.shape([4]))
            return same

    return Module


def three_chains() -> Any:
    """Three chains of two calls, one call after the other of each."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.abs(y)
                c = R.tanh(x)
                d = R.exp(a)
                e = R.abs(b)
                f = R.tanh(c)
                g = R.add(d, e)
                h = R.add(f, g)
                R.output(h)
            return h

    return Module


def hinted() -> Any:
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.hint_on_device(x, tvm.cpu(0))
            z = R.exp(y)
            return z

    return Module


def misnamed() -> Any:
    function = samples.dataflow()["main"]
    return tvm.IRModule({"elsewhere": function})


def reshaped() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                y = R.reshape(x, R.shape([2, 3]))
                z = R.exp(y)
                R.output(z)
            return z

    return Module


NOTHING = {
    'relax.transform.CanonicalizeBindings()': (messy, {
        "no alias is left", "no projection of a tuple built here is left",
    }),
    'relax.transform.ConvertToDataflow(min_size=2)': (messy, {"no run of min_size pure bindings is left outside"}),
    'relax.transform.DeadCodeElimination()': (messy, {"no unreached function is left", "no dead binding is left"}),
    'relax.transform.DeadCodeElimination(["unused"])': (messy, {
        "no unreached function is left", "no dead binding is left",
    }),
    'relax.transform.EliminateCommonSubexpr()': (messy, {"no two equal calls are left"}),
    'relax.transform.ExpandTupleArguments()': (messy, {"no private function takes a tuple"}),
    'relax.transform.InlinePrivateFunctions()': (messy, {"no private function is left but recursive ones"}),
    'relax.transform.LambdaLift()': (samples.closure, {"no local function is left"}),
    'relax.transform.Normalize()': (messy, set()),
    'relax.transform.NormalizeGlobalVar()': (misnamed, {"public functions stand under their symbols"}),
    'relax.transform.RemoveRedundantReshape()': (reshaped, {"no reshape to the same shape is left"}),
    'relax.transform.RemoveUnusedOutputs()': (messy, {"no unread field of a result is left"}),
    'relax.transform.RemoveUnusedParameters()': (messy, {"no unread parameter is left"}),
    'relax.transform.TopologicalSort("depth-first", "from-inputs")': (three_chains, {
        "the order is of the kind asked for",
    }),
    'relax.transform.TopologicalSort("depth-first", "from-outputs")': (three_chains, {
        "the order is of the kind asked for",
    }),
    'relax.transform.RealizeVDevice()': (hinted, {"no hint is left"}),
    'relax.transform.AttachExternModules([])': (messy, {"the modules are attached"}),
}  # fmt: skip
"""Pass -> a module, and the claims that a pass breaks that gives this module back."""


@pytest.mark.parametrize("expression", list(NOTHING))
def test_what_the_pass_gives_satisfies_its_claims_and_doing_nothing_breaks_them(expression: str) -> None:
    assert_claims(expression, *NOTHING[expression])


@pytest.mark.parametrize("first", ["depth-first", "breadth-first"])
@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
def test_each_order_is_told_from_the_others(first: str, direction: str) -> None:
    claim = "the order is of the kind asked for"
    asked = f'relax.transform.TopologicalSort(order="{first}", direction="{direction}")'
    assert not said(claim, ran(three_chains(), asked), "TopologicalSort")
    other = "breadth-first" if first == "depth-first" else "depth-first"
    given = ran(three_chains(), f'relax.transform.TopologicalSort(order="{other}", direction="{direction}")')
    wrong = Ran(given.before, given.after, {"order": first, "direction": direction})
    assert said(claim, wrong, "TopologicalSort").startswith(f"the order is not {first}")


def test_depth_first_from_outputs_has_what_a_binding_reads_before_it() -> None:
    @I.ir_module
    class Unsorted:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.abs(x)
                c = R.tanh(a)
                R.output(c)
            return c

    claim = "the order is of the kind asked for"
    asked = 'relax.transform.TopologicalSort(order="depth-first", direction="from-outputs")'
    given = ran(Unsorted, asked)
    assert not said(claim, given, "TopologicalSort")
    wrong = said(claim, Ran(Unsorted, Unsorted, given.arguments), "TopologicalSort")
    assert wrong.startswith("the order is not depth-first")


def test_a_sort_that_loses_a_binding_is_seen() -> None:
    before = three_chains()
    after = relax.transform.DeadCodeElimination()(before)
    main = after["main"]
    block = main.body.blocks[0]
    fewer = relax.DataflowBlock(list(block.bindings)[:-1])
    body = relax.SeqExpr([fewer], main.body.body)
    after = tvm.IRModule({"main": relax.Function(main.params, body, main.ret_ty, True, main.attrs)})
    assert said("blocks keep their bindings", Ran(before, after, {}), "TopologicalSort")


def local_functions() -> Any:
    """Two local functions in a dataflow block, the first with a dataflow block of its own."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            @R.function
            def first(x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
                lv = R.abs(x1)
                lv1 = R.nn.relu(lv)
                return lv1

            @R.function
            def second(x2: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
                lv3 = R.negative(x2)
                return lv3

            return x

    return relax.transform.ConvertToDataflow()(Module)


def test_a_sort_may_move_local_functions_and_must_not_change_them() -> None:
    """Their blocks were compared in the order in which they stood (seed 99991)."""
    claim, asked = "blocks keep their bindings", 'relax.transform.TopologicalSort(order="breadth-first")'
    sorted_ = ran(local_functions(), asked)
    names = [[str(each.var.name) for each in module["main"].body.blocks[0].bindings]
             for module in (sorted_.before, sorted_.after)]  # fmt: skip
    assert names == [["first", "second"], ["second", "first"]]
    assert not said(claim, sorted_, "TopologicalSort")
    shorter = Ran(sorted_.before, relax.transform.DeadCodeElimination()(sorted_.after), {})
    assert said(claim, shorter, "TopologicalSort")

    @relax.expr_functor.mutator
    class Spoilt(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_call_(self, call: Any) -> Any:
            return relax.op.exp(call.args[0]) if call.op.name == "relax.negative" else call

    main = Spoilt().visit_expr(sorted_.after["main"])
    assert "a dataflow block has other bindings" in said(claim, Ran(sorted_.before, tvm.IRModule({"main": main}), {}),
                                                         "TopologicalSort")  # fmt: skip


def test_an_effect_that_vanishes_is_seen() -> None:
    before = samples.impure()
    silent = relax.transform.DeadCodeElimination()(before)
    assert not said("no effect is lost", Ran(before, silent, {}), "DeadCodeElimination")
    main = before["main"]
    body = relax.SeqExpr([], main.params[0])
    after = tvm.IRModule({"main": relax.Function(main.params, body, main.params[0].ty, main.is_pure, main.attrs)})
    assert "impure" in said("no effect is lost", Ran(before, after, {}), "DeadCodeElimination")


def lifted(*, closure: bool, impure: bool, declared: bool) -> Any:
    """What LambdaLift should make of a local function that captures: a closure, called as what the function is."""
    lv = "R.make_closure(cls.inner, (x,))"
    call = "R.invoke_closure" if closure else "R.invoke_pure_closure"
    effect = 'R.print(y, format="y")' if impure else "y"
    return tvm.script.from_source(f"""
@I.ir_module
class Module:
    @R.function(private=True, pure={not declared})
    def inner(y: R.Tensor((2,), "float32"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        z = {effect}
        return x

    @R.function(pure={not closure})
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        inner = {lv}
        alias = inner
        out = {call}(alias, (x,), ty_args=(R.Tensor((2,), "float32"),))
        return out
""")


IMPURE = (
    "an impure function is called by invoke_pure_closure\n"
    "calls the impure function inner with invoke_pure_closure\nfunction: main"
)


@pytest.mark.parametrize(
    ("closure", "impure", "declared", "said_of_it"),
    [
        (False, True, True, IMPURE),
        (True, True, True, ""),
        (False, False, False, ""),
        (False, False, True, ""),
    ],
)
def test_an_impure_function_that_is_called_as_a_pure_one_is_seen(
    closure: bool, impure: bool, declared: bool, said_of_it: str
) -> None:
    claim = "no impure function is called as a pure one"
    after = lifted(closure=closure, impure=impure, declared=declared)
    assert said(claim, Ran(samples.closure(), after, {}), "LambdaLift") == said_of_it
    assert not said(claim, Ran(after, after, {}), "LambdaLift")
    forced = tvm.IRModule({"f": samples.dataflow()["main"].with_attr("relax.force_pure", True)})
    assert not said(claim, Ran(forced, after, {}), "LambdaLift")


def test_an_operator_that_comes_is_seen() -> None:
    before = samples.dataflow()
    after = relax.transform.LegalizeOps()(before)
    assert said("no operator comes", Ran(before, after, {}), "DeadCodeElimination") == (
        "an operator is called more often\ncalls relax.call_tir 4 instead of 0 times"
    )
    assert said("no function comes", Ran(before, after, {}), "DeadCodeElimination")


def test_what_is_equal_in_two_branches_is_not_equal_in_one_scope() -> None:
    claim = "no two equal calls are left"

    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            if c:
                y = R.exp(x)
                z = y
            else:
                w = R.exp(x)
                z = w
            return z

    assert not said(claim, Ran(Module, Module, {}), "EliminateCommonSubexpr")


def test_dims_of_a_parameter_that_goes_come_by_the_type_of_another() -> None:
    """In TVM 0.25 as a scalar whose type has the dim for its value, in later releases as a shape."""
    n = tvm.tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    with builder.function("main", [relax.Var("x", relax.ShapeType([n]))], private=True):
        builder.emit_func_output(builder.emit(relax.op.zeros(relax.ShapeExpr([n]), "float32")))
    run = ran(builder.get(), "relax.transform.RemoveUnusedParameters()")
    assert said("no unread parameter is left", run, "RemoveUnusedParameters") == ""
    assert _brings_dims(SimpleNamespace(value=n))
    assert not _brings_dims(tvm.ir.PrimType("int64"))
    assert not _brings_dims(relax.TensorType([n], "float32"))


def tuple_of(reads):
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor([2]))
    with builder.function("main", [x]):
        with builder.dataflow():
            pair = builder.emit(relax.Tuple([x, x]))
            got = builder.emit(relax.TupleGetItem(pair, 1))
            out = builder.emit_output(got if reads else relax.op.abs(x))
        builder.emit_func_output(out)
    return builder.finalize()


@pytest.mark.parametrize("reads", [True, False])
def test_a_projection_that_nobody_reads_may_stay(reads):
    """It was one of a constant field, which took its place; and one outside of a dataflow block."""
    module = tuple_of(reads)
    assert bool(projection_left(Ran(module, module, {}))) is reads


def test_a_projection_of_a_constant_that_is_an_output_may_stay() -> None:
    """FoldConstant made a tuple of constants, and one reached an output through an alias: work of the second run."""
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        with builder.dataflow():
            pair = builder.emit(relax.Tuple([relax.const(0, "int64"), relax.const(1, "int64")]))
            out = builder.emit_output(builder.emit(relax.TupleGetItem(pair, 1)))
        builder.emit_func_output(out)
    run = relax.transform.CanonicalizeBindings()(builder.finalize())
    (block,) = run["main"].body.blocks
    assert isinstance(block.bindings[-1].value, relax.TupleGetItem)
    assert not projection_left(Ran(run, run, {}))
