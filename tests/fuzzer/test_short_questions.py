# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def, attr-defined, union-attr"
"""A wrong answer of an analysis is shown by a script that asks the same, and that ends well where it is right."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from corpus.case import load, load_module
from fuzzer.core.case import Case, judge_case
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.render import render_repro
from fuzzer.repro.short.questions import asked
from fuzzer.repro.short.render import MOST_LINES, short_forms
from fuzzer.repro.title import title_of
from fuzzer.triage.blame.rules import blame_request
from oracles.core.verdict import Outcome, Verdict
from relaxkit.passes.claims.analysis import type_misjudged
from relaxkit.passes.contract import OracleName, Ran
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.questions import Question

ASKS = "relax.transform.function_pass(lambda f, mod, _: [f.params, f][1], opt_level=0, name='analysis')"


@I.ir_module
class Sample:
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            y[i] = x[i]

    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), z: R.Tensor((2,), "float32")):
        n = T.int64()
        with R.dataflow():
            y = R.add(x, x)
            flat = R.reshape(y, (3 * n,))
            made = R.call_tir(Sample.kernel, (z,), out_ty=R.Tensor((2,), "float32"))
            R.output(y, flat, made)
        w = Sample.even(y)
        return (w, flat, made)

    @R.function(private=True)
    def even(x: R.Tensor(("k", 3), "float32")) -> R.Tensor(("k", 3), "float32"):
        k = T.int64()
        y: R.Tensor((k, 3), "float32") = Sample.even(x)
        return y


def wrongly(answer: Any) -> Callable[[Any], Any]:
    """Make a function that answers always so."""
    return lambda real: lambda *_, **__: answer


def raising(real: Any) -> Any:
    def answer(*_: Any, **__: Any) -> Any:
        raise ValueError("Do not have a default for it")

    return answer


def apart(call: Any) -> bool:
    """Say whether it is the call of a kernel whose operands are a variable."""
    return isinstance(call, relax.Call) and len(call.args) == 2 and isinstance(call.args[1], relax.Var)


WRONG: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (relax.analysis, "free_vars", lambda real: lambda of: [*real(of)][1:]),
    (relax.analysis, "free_vars", lambda real: lambda of: [relax.Var("z")]),
    (relax.analysis, "bound_vars", lambda real: lambda of: [*real(of)][1:]),
    (relax.analysis, "all_vars", wrongly([])),
    (relax.analysis, "used_vars", wrongly([])),
    (relax.analysis, "name_to_binding", wrongly({})),
    (relax.analysis, "get_var2val", wrongly({})),
    (relax.analysis, "udchain", lambda real: lambda of: dict.fromkeys(real(of), ())),
    (relax, "get_shape_of", wrongly(relax.ShapeExpr([7]))),
    (relax.analysis, "type_lca", lambda real: lambda one, other: one),
    (relax.analysis, "type_lca", raising),
    (relax.analysis, "type_base_check", wrongly(relax.analysis.BaseCheckResult.PASS)),
    (relax.analysis, "get_static_type", wrongly(relax.ShapeType(ndim=9))),
    (relax.analysis, "erase_to_well_defined", lambda real: lambda ty, *_: ty),
    (relax.analysis, "definable_tir_vars_in_type", wrongly([tvm.tirx.Var("m", "int64")])),
    (relax.BlockBuilder, "normalize", lambda real: lambda builder, call: call if apart(call) else real(builder, call)),
    (relax.analysis, "derive_call_ret_type", wrongly(relax.ShapeType(ndim=9))),
    (relax.analysis, "contains_impure_call", wrongly(True)),
    (relax.analysis, "contains_impure_call", raising),
    (relax.analysis, "detect_recursion", wrongly([])),
    (relax.dpl.pattern, "is_var", lambda real: lambda name: real(f"{name}_")),
    (relax.dpl.pattern, "is_gv", raising),
    (relax.analysis, "check_well_formed", lambda real: lambda of, check_ty=True: True),
    (relax.ShapeType, "__init__",
     lambda real: lambda self, values=None, ndim=-1, *more: real(self, None if values == 1 else values, ndim, *more)),
]  # fmt: skip


def failed(module: Any) -> tuple[Case, Verdict]:
    case = Case(str(tvm.ir.save_json(module)), (PassRef("analysis", ASKS),), 0)
    (verdict,) = judge_case(case, (OracleName.POSTCONDITION,))
    assert verdict.outcome is Outcome.FAIL, (verdict.reason, verdict.evidence)
    return case, verdict


@pytest.mark.parametrize(
    ("room", "name", "wrong"), WRONG, ids=[f"{name}-{at}" for at, (_, name, _) in enumerate(WRONG)]
)
def test_a_wrong_answer_is_shown_by_its_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, room: Any, name: str, wrong: Callable[[Any], Any]
) -> None:
    path, real = tmp_path / "script.py", getattr(room, name)
    with monkeypatch.context() as patch:
        patch.setattr(room, name, wrong(real))
        case, verdict = failed(Sample)
        assert blame_request(case, verdict, "analysis").name.endswith(room.__name__ if name == "__init__" else name)
        forms = short_forms(case, verdict)
        assert forms.scripts, forms.why
        script = forms.scripts[0]
        assert len(script.text.splitlines()) <= MOST_LINES
        path.write_text(script.text)
        with pytest.raises((AssertionError, ValueError)) as caught:
            runpy.run_path(str(path))
        assert caught.type.__name__ == script.ending.error
        assert script.ending.line <= next(each.lineno for each in caught.traceback if each.path == path) + 1
    runpy.run_path(str(path))  # with the right answer


def test_an_analysis_that_raises_on_a_type_of_the_module_answers_wrongly() -> None:
    """type_lca has no case for DTensorType; that was taken for an error of the harness."""

    @I.ir_module
    class Distributed:
        I.module_global_infos({"mesh": [R.dist.device_mesh((2,), I.Range(0, 2))]})

        @R.function
        def main(x: R.dist.DTensor((4,), "float32", "mesh[0]", "S[0]")):
            return x

    ran = Ran(Distributed, Distributed, {})
    assert type_misjudged(ran).startswith("relax.analysis.type_lca raises InternalError\n")
    question = next(each for each in inspect.unwrap(type_misjudged)(ran) if each.contradiction())
    showing = asked(Distributed, question, "")
    assert showing.lines[-1].startswith("answer = relax.analysis.type_lca(one, other)")
    assert showing.ending.error == "InternalError"


def test_the_long_script_asks_as_well() -> None:
    (known,) = load(["analysis-use-by-cast"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = judge_case(case, (OracleName.POSTCONDITION,))
    seen = check_pristine(render_repro(case, verdict, "it").text)
    assert seen.confirmed, seen


def test_a_question_that_is_wrong_itself_is_not_answered_wrongly() -> None:
    with pytest.raises(AttributeError):
        Question("it is wrong", "is wrong", "relax.analysis.no_such_analysis()", "answer").contradiction()
    with pytest.raises(NameError):
        Question("it is wrong", "is wrong", "relax.analysis.free_vars(unknown)", "answer").contradiction()


def test_a_method_that_disagrees_with_its_pass_is_called_and_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The script asserted that the pass does not give the module that it rightly gives, and never called the method."""
    (known,) = load(["bind-params-method-narrows"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = judge_case(case, (OracleName.POSTCONDITION,))
    said = "relax.Function.bind_params and BindParams disagree: the method makes float64 arrays float32"
    assert title_of(case, verdict) == said
    blame = blame_request(case, verdict, "BindParams")  # the pass does not ask the method
    assert (blame.name, blame.reason) == ("relax.Function.bind_params", "it gives something else than documented")
    script = short_forms(case, verdict).scripts[0]
    assert 'bound = Before["main"].bind_params({"x": np.ones((2,))})\nprint(bound.script())' in script.text
    path, real = tmp_path / "script.py", relax.Function.bind_params
    path.write_text(script.text)
    with pytest.raises(ValueError, match="StructuralEqual"):
        runpy.run_path(str(path))

    def mended(function: relax.Function, binding: dict[str, Any]) -> Any:
        return real(function, {name: relax.const(value, str(value.dtype)) for name, value in binding.items()})

    monkeypatch.setattr(relax.Function, "bind_params", mended)
    runpy.run_path(str(path))


@pytest.mark.parametrize("whole", [True, False])
def test_a_method_that_binds_other_dims_is_shown_by_the_function_that_it_binds(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    text = 'relax.transform.BindSymbolicVars({"n": 4}' + (")" if whole else ', "main")')
    case = Case(str(tvm.ir.save_json(Sample)), (PassRef("BindSymbolicVars", text),), 0)
    monkeypatch.setattr(relax.Function, "bind_symbolic_vars", lambda function, _: function)
    (verdict,) = judge_case(case, (OracleName.POSTCONDITION,))
    assert title_of(case, verdict) == "BindSymbolicVars and Function.bind_symbolic_vars disagree on main"
    lines = short_forms(case, verdict).scripts[0].text.splitlines()
    assert 'bound = Before["main"].bind_symbolic_vars({"n": 4})' in lines
