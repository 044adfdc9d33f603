# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def, attr-defined, union-attr"
"""What analyses, methods of functions and the machine's code claim: TVM's own keep it, but for its defects, and wrong
ones do not."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import claims_of_passes as claims
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from oracles import check
from relaxkit.passes.claims import analysis, lowering, params
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef
from strategies.detect.module_facts import facts_of
from strategies.pass_arguments.table import PASS_ROWS
from strategies.scope.choices import Choices
from strategies.scope.from_bytes import draws_of


@I.ir_module
class Sample:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((3, 3), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        with R.dataflow():
            z = R.matmul(x, y)
            pair = (z, R.add(z, z))
            flat = R.reshape(pair[1], (3 * n,))
            R.output(z, flat)
        w = Sample.even(z)
        return (w, flat)

    @R.function(private=True)
    def even(x: R.Tensor(("k", 3), "float32")) -> R.Tensor(("k", 3), "float32"):
        k = T.int64()
        y: R.Tensor((k, 3), "float32") = Sample.odd(x)
        return y

    @R.function(private=True)
    def odd(x: R.Tensor(("k", 3), "float32")) -> R.Tensor(("k", 3), "float32"):
        k = T.int64()
        y: R.Tensor((k, 3), "float32") = Sample.even(x)
        return y


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            z = R.exp(x)
            w = R.match_cast(z, R.Tensor((2,), "float32"))
            R.output(w)
        return w


@I.ir_module
class Branch:
    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.exp(x)
            z = R.exp(y)
        else:
            z = R.abs(x)
        return z


def run(module: Any) -> Ran:
    return Ran(module, module, {})


@pytest.mark.parametrize("claim", CONTRACTS["analysis"].postconditions, ids=lambda claim: claim.claim)
def test_the_analyses_keep_what_is_documented(claim: Any) -> None:
    assert claim.violation(run(Sample)) == ""


@pytest.mark.parametrize(
    ("claim", "room", "name", "wrong"),
    [
        (analysis.variables_missed, relax.analysis, "free_vars", lambda real: lambda of: [*real(of)][1:]),
        (analysis.variables_missed, relax.analysis, "bound_vars", lambda real: lambda of: [*real(of)][1:]),
        (analysis.binding_missed, relax.analysis, "name_to_binding", lambda real: lambda of: {}),
        (analysis.use_missed, relax.analysis, "udchain", lambda real: lambda of: dict.fromkeys(real(of), ())),
        (analysis.shape_missed, relax, "get_shape_of", lambda real: lambda of: relax.ShapeExpr([7])),
        (analysis.type_misjudged, relax.analysis, "type_lca", lambda real: lambda one, other: one),
        (analysis.type_misjudged, relax.analysis, "get_static_type", lambda real: lambda ty: relax.ShapeType(ndim=9)),
        (analysis.type_misjudged, relax.analysis, "erase_to_well_defined", lambda real: lambda ty, *_: ty),
        (analysis.result_misjudged, relax.analysis, "derive_call_ret_type",
         lambda real: lambda ty, call, builder: relax.ShapeType(ndim=9)),
        (analysis.purity_misjudged, relax.analysis, "contains_impure_call", lambda real: lambda of: True),
        (analysis.recursion_missed, relax.analysis, "detect_recursion", lambda real: lambda of: [*real(of)][1:]),
        (analysis.pattern_mismatched, relax.dpl.pattern, "is_var", lambda real: lambda name: real(f"{name}_")),
        (analysis.ill_formed_accepted, relax.analysis, "check_well_formed", lambda real: lambda *_, **__: True),
        (analysis.wrong_parts_taken, relax, "ShapeType", lambda real: lambda values=None, ndim=-1: real(ndim=1)),
    ],
)  # fmt: skip
def test_a_wrong_analysis_is_told(
    monkeypatch: pytest.MonkeyPatch,
    claim: Callable[[Any], str],
    room: Any,
    name: str,
    wrong: Callable[[Any], Callable[..., Any]],
) -> None:
    assert claim(run(Sample)) == ""
    monkeypatch.setattr(room, name, wrong(getattr(room, name)))
    assert claim(run(Sample)) != ""


def test_uses_by_casts_and_bindings_in_branches_are_missed_by_tvm() -> None:
    """Defects of TVM 0.27: udchain leaves out casts, name_to_binding what branches and local functions bind."""
    told = analysis.use_missed(run(Cast))
    assert told == "a use is not listed\nrelax.analysis.udchain omits the use of z in a match_cast of main"
    assert analysis.binding_missed(run(Branch)).startswith("a binding is not found by its name\n")


def test_a_group_of_functions_that_refer_to_each_other_is_one() -> None:
    for bits in range(0, 1 << 25, (1 << 25) // 50 + 77777):
        assert analysis.recursion_missed(run(analysis._referring(bits))) == ""


@pytest.mark.parametrize(
    ("text", "claim", "method"),
    [
        ('relax.transform.BindSymbolicVars({"n": 4}, "main")', params.bound_otherwise, "bind_symbolic_vars"),
        (
            'relax.transform.BindParams("main", {"y": np.ones((3, 3), "float32")})',
            params.parameters_bound_otherwise,
            "bind_params",
        ),
    ],
)
def test_a_function_binds_as_the_pass_does(
    monkeypatch: pytest.MonkeyPatch, text: str, claim: Callable[[Any], str], method: str
) -> None:
    given = claims.ran(Sample, text)
    assert claim(given) == ""
    monkeypatch.setattr(relax.Function, method, lambda function, binding: function)
    assert claim(given) != ""

    def raises(function: Any, binding: Any) -> Any:
        raise ValueError("it cannot be bound")

    monkeypatch.setattr(relax.Function, method, raises)
    assert claim(given) != ""


def test_a_function_that_is_not_named_keeps_its_dims(monkeypatch: pytest.MonkeyPatch) -> None:
    """19ead9a5d7: BindSymbolicVars was to bind the dims of one function, and another had one of the same name."""
    bound = claims.ran(Sample, 'relax.transform.BindSymbolicVars({"k": 4}, "even")')
    given = Ran(bound.before, tvm.ir.load_json(tvm.ir.save_json(bound.after)), bound.arguments)
    assert params.bound_otherwise(given) == ""
    monkeypatch.setattr(relax.Function, "bind_symbolic_vars", lambda function, binding: function)
    assert params.bound_otherwise(given).endswith("on even")


def test_the_code_of_the_machine_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with tvm.target.Target("llvm"):
        lowered = SimpleNamespace(after=relax.get_pipeline("default_build")(Branch))
    assert lowering.code_read_back_otherwise(lowered) == ""
    real = relax.ExecBuilder.emit_goto
    monkeypatch.setattr(relax.ExecBuilder, "emit_goto", lambda builder, offset: real(builder, offset + 1))
    assert lowering.code_read_back_otherwise(lowered).startswith("other instructions are read back\n")


def drawn(name: str, module: Any) -> list[PassRef]:
    facts = facts_of(module)
    return [PassRef(name, PASS_ROWS[name].draw(Choices(draws_of(random.Random(seed))), facts)) for seed in range(40)]


@pytest.mark.parametrize("module", [Sample, Cast, Branch])
def test_every_question_is_answered(module: Any) -> None:
    texts = {each.expression: each for each in drawn("analysis", module)}
    assert len(texts) > 15
    for text, each in texts.items():
        if module is Sample and "ExternFunc" in text:  # corpus/cases/script-extern-func-symbolic
            with pytest.raises(tvm.error.InternalError, match="Variable is not defined"):
                each.build()(module)
        else:
            tvm.ir.assert_structural_equal(each.build()(module), module)


@I.ir_module
class Calls:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            y = Calls.twice(x)
            z = R.nn.relu(y)
            R.output(z)
        return z

    @R.function(private=True)
    def twice(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


@pytest.mark.parametrize("name", ["inline_functions", "dataflowblock_pass", "ApplyEmptyCppMutator"])
def test_functions_of_users_keep_what_is_computed(name: str) -> None:
    for each in {each.expression: each for each in drawn(name, Calls)}.values():
        check(Calls, each)


_IDENTITY = 'relax.Function(mod["twice"].params, mod["twice"].params[0], mod["twice"].ret_ty)'


_INLINED = f'f.inline_functions({{"twice": {_IDENTITY}}}) if f.attrs else f'
_MULTIPLIED = "b.value if b.value.op != tvm.ir.Op.get('relax.add') else relax.op.multiply(*b.value.args)"
_BLOCK = f"relax.DataflowBlock([relax.VarBinding(b.var, {_MULTIPLIED}) for b in block.bindings])"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("inline_functions", f"relax.transform.function_pass(lambda f, mod, _: {_INLINED}, opt_level=0)"),
        ("dataflowblock_pass", f"relax.transform.dataflowblock_pass(lambda block, mod, _: {_BLOCK}, opt_level=0)"),
    ],
)
def test_functions_that_compute_something_else_are_told(name: str, text: str) -> None:
    with pytest.raises(AssertionError, match=r"numeric|numbers|result|operator"):
        check(Calls, PassRef(name, text))


def test_rewriters_of_tuples_and_with_functions_are_drawn_and_build() -> None:
    @I.ir_module
    class Tuples:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                pair = (R.exp(x), R.negative(y))
                both = R.concat(pair)
                R.output(both)
            return both

    texts = [each.expression for each in drawn("PatternMatchingRewriter", Tuples)]
    assert any("return (R." in text for text in texts)
    assert any("def subroutine" in text for text in texts)
    changed = 0
    for text in texts:
        result = PassRef("PatternMatchingRewriter", text).build()(Tuples)
        changed += not tvm_ffi.structural_equal(result, Tuples)
    assert changed > 5


def test_registered_patterns_are_taken_out_again() -> None:
    given = [each for each in drawn("FuseOpsByPattern", Sample) if "register_patterns" in each.expression]
    assert given
    for each in given:
        built = each.build()
        assert not relax.backend.pattern_registry.get_patterns_with_prefix("pyext.")
        assert isinstance(built, tvm.ir.transform.Pass)
