"""The external code generator: what RunCodegen makes with it runs, and a script brings it along."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from fuzzer.core.case import Case
from fuzzer.repro.bundle import select
from fuzzer.repro.render import expression, render_repro
from fuzzer.repro.run import check_repro
from fuzzer.repro.table import EXTERNAL_PIECES
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence, Outcome, Verdict
from oracles.judge import judge
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime import cxx_available, plain_build, session
from relaxkit.runtime.external import EXTERNAL_NAME, with_codegen
from strategies.constructs.composites import EXTERNAL

RUN = PassRef("RunCodegen", "relax.transform.RunCodegen()")


def module_with(backend, results=1):
    """``main`` calls a ``Codegen`` function of two composites, which returns one or both results."""
    builder = relax.BlockBuilder()
    ty = relax.TensorType((tvm.tirx.Var("n", "int64"), 3), "float32")

    def composite(name, op):
        x = relax.Var("x", relax.TensorType((tvm.tirx.Var("m", "int64"), 3), "float32"))
        y = relax.Var("y", x.ty)
        block = relax.DataflowBlock([relax.VarBinding(y, op(x))])
        inner = relax.Function([x], relax.SeqExpr([block], y), x.ty)
        return inner.with_attr("Composite", f"{backend}.{name}")

    operand = relax.Var("a", ty)
    with builder.function("external", [operand], attrs={"Codegen": backend}):
        first = builder.emit(composite("exp", relax.op.exp), "f")
        one = builder.emit(relax.Call(first, [operand]))
        second = builder.emit(composite("negative", relax.op.negative), "f")
        two = builder.emit(relax.Call(second, [one]))
        var = builder.emit_func_output(two if results == 1 else relax.Tuple([one, two]))
    given = relax.Var("b", relax.TensorType((tvm.tirx.Var("k", "int64"), 3), "float32"))
    with builder.function("main", [given]):
        with builder.dataflow():
            made = builder.emit_output(relax.Call(var, [given]))
        builder.emit_func_output(made)
    return builder.finalize()


def test_strategies_and_oracles_mean_the_same_generator():
    assert EXTERNAL == EXTERNAL_NAME


@pytest.mark.parametrize("results", [1, 2])
def test_what_run_codegen_makes_runs_and_agrees(results):
    module = module_with(EXTERNAL_NAME, results)
    made = RUN.build()(module)
    assert "call_dps_packed" in made.script()
    assert "Codegen" not in made.script()
    x = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    before = session().build(module).call("main", [x])
    after = session().build(made).call("main", [x])
    np.testing.assert_array_equal(np.asarray(before), np.asarray(after))


def test_the_generator_is_asked_and_not_the_module(monkeypatch):
    module = module_with(EXTERNAL_NAME)
    asked = []

    def build(plain):
        asked.append(plain)
        return session().build(plain)

    made = with_codegen(relax.transform.RunCodegen(), build)(module)
    program = session().build(made)
    assert not asked  # built at the first call
    program.call("main", [np.zeros((1, 3), "float32")])
    program.call("main", [np.zeros((4, 3), "float32")])
    assert len(asked) == 1


def test_all_oracles_judge_it():
    verdicts = {each.oracle: each for each in judge(Subject(module_with(EXTERNAL_NAME), [RUN]))}
    assert {each.outcome for each in verdicts.values()} == {Outcome.PASS}, verdicts


def test_an_absent_generator_is_a_refusal():
    verdicts = {each.oracle: each for each in judge(Subject(module_with("absent"), [RUN]))}
    assert verdicts[OracleName.CRASH].outcome is Outcome.REJECT
    assert verdicts[OracleName.CRASH].reason == "no such code generator"


def test_calls_of_other_functions_are_refused():
    lifted = relax.transform.LambdaLift()(module_with(EXTERNAL_NAME))
    with pytest.raises(ValueError, match="takes no calls") as caught:
        RUN.build()(lifted)
    refusals = contract_for(RUN).refusals
    assert any(refusal.matches("ValueError", str(caught.value)) for refusal in refusals)


def test_a_script_registers_the_generator_itself():
    text = select(EXTERNAL_PIECES, expression(RUN)).text
    assert expression(RUN) == "with_codegen(relax.transform.RunCodegen(), plain_build)"
    for name in ("def with_codegen", "class External", "def plain_build"):
        assert name in text
    assert plain_build.__name__ == "plain_build"


@pytest.mark.parametrize("results", [1, 2])
def test_a_numeric_script_runs_on_its_own(results, tmp_path):
    if not cxx_available():
        pytest.skip("plain relax.build needs a C++ compiler")
    case = Case(str(tvm.ir.save_json(module_with(EXTERNAL_NAME, results))), (RUN,), 5)
    evidence = Evidence("wrong-value", "results differ", ())
    script = tmp_path / "script.py"
    verdict = Verdict(OracleName.NUMERIC, Outcome.FAIL, RUN.name, evidence=evidence)
    script.write_text(render_repro(case, verdict, "planted").text)
    said = check_repro(script)
    assert said.exit_code == 0, said.output
    assert said.output.startswith("OK: ")
