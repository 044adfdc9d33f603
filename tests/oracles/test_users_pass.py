"""A user's pass: what TVM does without it is not held against it, and what no contract speaks of is a note."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.relax import dpl
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.script import ir as I
from tvm.script import relax as R

from fuzzer.findings.assessment import EvidenceClass, evidence_class
from oracles import Contract, Idempotence, Kept, Locality, OracleFailure, OracleName, Outcome, Verdict, check
from oracles.check import line
from oracles.core.evidence import users_frames
from oracles.core.module_facts import equal
from oracles.core.subject import Subject
from oracles.users_pass import (
    CLEANED,
    LATER_EDIT,
    TVM_ALONE,
    Identity,
    own_calls,
    own_changes,
    rewritten,
    without_dead_code,
)
from relaxkit.ir.walk import operators_called
from relaxkit.passes.pass_ref import GivenPass


@I.ir_module
class Sum:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"mine": 1})
        lv: R.Tensor((2,), "float32") = R.add(x, x)
        return lv


OPERAND = wildcard()
OUTER = is_op("relax.nn.relu")(is_op("relax.nn.relu")(OPERAND))


def rebuilt(module: tvm.IRModule, negations: int, keep: bool = True) -> tvm.IRModule:
    old, builder = module["main"], relax.BlockBuilder()
    x = relax.Var("x", old.params[0].ty)
    with builder.function("main", [x], attrs={"mine": 1} if keep else None):
        value = x
        for _ in range(negations):
            value = builder.emit(relax.op.negative(value))
        builder.emit_func_output(builder.emit(relax.op.add(value, value)))
    return builder.get()


def made(transform: Callable[[tvm.IRModule], tvm.IRModule]) -> Any:
    return tvm.transform.module_pass(lambda module, _: transform(module), opt_level=0, name="Mine")


def of(verdicts: list[Verdict], oracle: OracleName) -> Verdict:
    return next(each for each in verdicts if each.oracle is oracle)


def bindings(module: tvm.IRModule) -> int:
    return sum(len(block.bindings) for block in module["main"].body.blocks)


def test_what_no_contract_speaks_of_is_a_note() -> None:
    grows = made(lambda module: rebuilt(module, 2 * bindings(module), keep=False))
    verdicts = check(Sum, grows)
    again, kept = of(verdicts, OracleName.IDEMPOTENCE), of(verdicts, OracleName.POSTCONDITION)
    assert again.outcome is Outcome.PASS
    assert "idempotence=Idempotence.NEVER" in again.note
    assert (kept.outcome, kept.reason) == (Outcome.SKIP, "no postcondition")
    assert "Kept.FUNCTION_ATTRIBUTES" in kept.note


def test_a_contract_that_says_so_ends_the_note_or_makes_it_a_failure() -> None:
    grows = made(lambda module: rebuilt(module, 2 * bindings(module), keep=False))
    says: dict[str, Any] = {"changes": frozenset({Kept.FUNCTION_ATTRIBUTES}), "locality": Locality.MODULE}
    verdicts = check(Sum, grows, contract=Contract("Mine", idempotence=Idempotence.NEVER, **says))
    assert not any(each.note for each in verdicts)
    with pytest.raises(OracleFailure, match="idempotence fail") as caught:
        check(Sum, grows, contract=Contract("Mine", idempotence=Idempotence.IDEMPOTENT, **says))
    broken = of(caught.value.verdicts, OracleName.IDEMPOTENCE)
    assert evidence_class(broken) is EvidenceClass.DOCUMENTED, "by the contract of the pass, and no question"
    never = Contract("Mine", idempotence=Idempotence.NEVER, locality=Locality.MODULE, changes=frozenset())
    with pytest.raises(OracleFailure, match="postcondition fail") as caught:
        check(Sum, grows, contract=never)
    assert evidence_class(of(caught.value.verdicts, OracleName.POSTCONDITION)) is EvidenceClass.DOCUMENTED


def test_a_pass_that_does_nothing_strange_has_no_note() -> None:
    assert not any(each.note for each in check(Sum, made(lambda module: rebuilt(module, 0))))


def test_an_edit_of_the_input_in_a_later_run_is_seen() -> None:
    runs = 0

    def edits(module: tvm.IRModule) -> tvm.IRModule:
        nonlocal runs
        runs += 1
        if runs == 3:
            module.update_func(module.get_global_var("main"), module["main"].with_attr("edited", 1))
        return module

    with pytest.raises(OracleFailure) as caught:
        check(tvm.IRModule({"main": Sum["main"]}), made(edits))
    verdict = of(caught.value.verdicts, OracleName.MUTATION)
    assert verdict.evidence is not None
    assert verdict.evidence.message == LATER_EDIT


def refuses(module: tvm.IRModule) -> tvm.IRModule:
    raise ValueError("no module like this")


def test_what_tvm_does_without_the_pass_is_not_held_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OracleFailure, match="no module like this"):
        check(Sum, made(refuses))
    monkeypatch.setattr("oracles.users_pass.Identity", lambda names=None: made(refuses))
    verdicts = check(Sum, made(refuses))
    assert of(verdicts, OracleName.CRASH).reason == TVM_ALONE


def test_the_identity_rebuilds_and_changes_nothing() -> None:
    after = Identity()(Sum)
    assert not after["main"].same_as(Sum["main"])
    assert equal(after, Sum)


@I.ir_module
class OneBlock:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a: R.Tensor((2,), "float32") = R.abs(x)
            b: R.Tensor((2,), "float32") = R.abs(a)
            R.output(a, b)
        return b


def test_what_the_building_of_functions_anew_changes_is_no_work_of_the_pass() -> None:
    def negated(module: tvm.IRModule) -> tvm.IRModule:
        return rebuilt(module, 1)

    function = OneBlock["main"]
    blocks = [relax.DataflowBlock([each]) for each in function.body.blocks[0].bindings]
    body = relax.SeqExpr(blocks, function.body.body)
    apart = relax.Function(function.params, body, function.ret_ty, True, function.attrs)
    for built, did in ((Identity(), False), (made(negated), True)):
        subject = Subject(tvm.IRModule({"main": apart}), [GivenPass("Mine", "<Mine>", built)])
        assert subject.output.error is None
        assert subject.changed
        assert rewritten(subject) is did


@pytest.mark.parametrize("rewrites", [False, True])
def test_what_a_pass_writes_into_its_input_is_its_work(rewrites: bool) -> None:
    def marks(module: tvm.IRModule) -> tvm.IRModule:
        module.update_func(module.get_global_var("main"), module["main"].with_attr("hot", True))
        return by_call(lambda call, _: call)(module) if rewrites else module

    subject = Subject(tvm.IRModule({"main": Sum["main"]}), [GivenPass("Mine", "<Mine>", made(marks))])
    assert subject.changed
    subject.prepared.restore()  # as the oracles do before they run it again
    assert rewritten(subject)


@I.ir_module
class Unclean:
    """What TVM's rewriters clean up: it is in no dataflow block."""

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        dead = R.exp(x)  # noqa: F841 -- it is dead
        a = R.nn.relu(x)
        return R.nn.relu(a)


def by_call(becomes: Callable[[Any, Any], Any]) -> Callable[[tvm.IRModule], tvm.IRModule]:
    return lambda module: tvm.IRModule({"main": rewrite_call(OUTER, becomes, module["main"])})


def by_rewriter(becomes: Callable[[Any, Any], Any]) -> Callable[[tvm.IRModule], tvm.IRModule]:
    rewriter = dpl.PatternMatchingRewriter.from_pattern(OUTER, becomes)
    return lambda module: rewriter(tvm.IRModule(dict(module.functions)))


def by_several(becomes: Callable[[Any, Any], Any]) -> Callable[[tvm.IRModule], tvm.IRModule]:
    never = dpl.ExprPatternRewriter(is_op("relax.tan")(wildcard()), becomes)
    both = never | dpl.ExprPatternRewriter(OUTER, becomes)
    return lambda module: tvm.IRModule({"main": both(module["main"])})


@pytest.mark.parametrize("by", [by_call, by_rewriter, by_several])
def test_what_tvms_rewriters_clean_up_is_no_work_of_the_pass(by: Callable[..., Any]) -> None:
    subject = Subject(Unclean, [GivenPass("Mine", "<Mine>", made(by(lambda call, _: call)))])
    assert subject.output.error is None
    assert subject.changed, "the dead call is gone"
    assert not rewritten(subject)
    rewrites = by(lambda _, found: relax.op.nn.relu(found[OPERAND]))
    subject = Subject(Unclean, [GivenPass("Mine", "<Mine>", made(rewrites))])
    assert subject.output.error is None
    ((without, after),) = own_changes(subject)
    assert operators_called(without) - operators_called(after) == {"relax.nn.relu": 1}, "and no relax.exp"


def test_calls_that_tvm_merges_behind_a_rewrite_are_not_removed_by_the_pass() -> None:
    @I.ir_module
    class Merging:
        @R.function
        def main(x: R.Tensor((2, 2), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                b = R.nn.relu(a)
                p = R.exp(a)
                q = R.exp(b)
                r = R.add(p, q)
                R.output(r)
            return r

    rewrites = by_call(lambda _, found: relax.op.nn.relu(found[OPERAND]))
    subject = Subject(Merging, [GivenPass("Mine", "<Mine>", made(rewrites))])
    assert subject.output.module is not None
    assert operators_called(subject.output.module)["relax.exp"] == 1, "it is one call after the rewrite"
    removed, added = own_calls(subject, own_changes(subject))
    assert (removed, added) == (Counter(), Counter()), "one relu for another"


def test_operands_that_a_rewrite_names_anew_are_not_added() -> None:
    """The matched operand is a call, which stands in the module as well until TVM merges the two."""

    @I.ir_module
    class Computed:
        @R.function
        def main(x: R.Tensor((2, 2), "float32")):
            with R.dataflow():
                a = R.abs(x)
                b = R.nn.relu(a)
                c = R.nn.relu(b)
                d = R.add(a, c)
                R.output(d)
            return d

    rewrites = by_call(lambda _, found: relax.op.nn.relu(found[OPERAND]))
    subject = Subject(Computed, [GivenPass("Mine", "<Mine>", made(rewrites))])
    assert subject.output.module is not None
    assert own_calls(subject, own_changes(subject)) == (Counter({"relax.nn.relu": 1}), Counter())


def test_dead_code_that_a_pass_removes_besides_is_not_counted() -> None:
    @I.ir_module
    class Dead:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            unused = R.exp(x)  # noqa: F841  # what is removed
            return R.add(x, x)

    subject = Subject(Dead, [GivenPass("Mine", "<Mine>", made(lambda module: rebuilt(module, 1)))])
    assert subject.output.module is not None
    ((before, after),) = own_changes(subject)
    live = tuple(without_dead_code(before, after))
    assert own_calls(subject, [live]) == (Counter(), Counter({"relax.negative": 1}))


def test_what_a_pass_does_besides_rewriting_by_patterns_is_its_work() -> None:
    inert = by_call(lambda call, _: call)
    subject = Subject(Unclean, [GivenPass("Mine", "<Mine>", made(lambda module: inert(rebuilt(module, 1))))])
    assert subject.output.error is None
    ((without, after),) = own_changes(subject)
    assert (operators_called(after) - operators_called(without))["relax.negative"] == 1


def test_the_frames_of_the_users_file_are_told_with_their_lines() -> None:
    with pytest.raises(OracleFailure) as caught:
        check(Sum, made(refuses))
    evidence = of(caught.value.verdicts, OracleName.CRASH).evidence
    assert evidence is not None
    last = evidence.details.raised_at[-1]
    assert "tests/oracles/test_users_pass.py:" in last
    assert last.endswith('in refuses: raise ValueError("no module like this")')
    assert evidence.frames[0] == "test_users_pass.py:refuses"
    assert last in line(of(caught.value.verdicts, OracleName.CRASH))


def helper(given: Any) -> Any:
    raise ValueError("no function like this")


class OfFunctions:
    def transform_function(self, function: Any, module: Any, context: Any) -> Any:
        return helper(function)


class OfBlocks:
    def transform_dataflowblock(self, block: Any, module: Any, context: Any) -> Any:
        return helper(block)


@mutator
class Visiting(PyExprMutator):
    def visit_call_(self, call: Any) -> Any:
        return helper(call)


def visits(module: tvm.IRModule) -> tvm.IRModule:
    return tvm.IRModule({"main": Visiting(module).visit_expr(module["main"])})


@I.ir_module
class Flowing:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            lv = R.add(x, x)
            R.output(lv)
        return lv


@pytest.mark.parametrize(
    ("built", "method"),
    [
        (lambda: relax.transform.function_pass(OfFunctions, opt_level=0, name="Mine")(), "transform_function"),
        (lambda: relax.transform.dataflowblock_pass(OfBlocks, opt_level=0, name="Mine")(), "transform_dataflowblock"),
        (lambda: relax.transform.function_pass(lambda f, *_: helper(f), opt_level=0, name="Mine"), "<lambda>"),
        (lambda: relax.transform.dataflowblock_pass(lambda b, *_: helper(b), opt_level=0, name="Mine"), "<lambda>"),
        (lambda: made(visits), "visit_call_"),
        (lambda: made(lambda module: helper(module)), "<lambda>"),
    ],
)
def test_the_deepest_frame_of_the_users_file_is_told_however_the_pass_is_made(
    built: Callable[[], Any], method: str
) -> None:
    with pytest.raises(OracleFailure) as caught:
        check(Flowing, built())
    verdict = of(caught.value.verdicts, OracleName.CRASH)
    evidence = verdict.evidence
    assert evidence is not None
    assert evidence.frames[:2] == ("test_users_pass.py:helper", f"test_users_pass.py:{method}")
    assert evidence.details.raised_at[-1].endswith('in helper: raise ValueError("no function like this")')
    assert "_pass_func" not in line(verdict)


def in_numpy(module: tvm.IRModule) -> tvm.IRModule:
    np.broadcast_to(np.zeros(2), (3,))
    return module


def test_the_frames_end_in_the_users_file_where_a_library_raises() -> None:
    with pytest.raises(OracleFailure) as caught:
        check(Sum, made(in_numpy))
    evidence = of(caught.value.verdicts, OracleName.CRASH).evidence
    assert evidence is not None
    assert evidence.frames[0] == "test_users_pass.py:in_numpy"
    assert evidence.details.raised_at[-1].endswith("in in_numpy: np.broadcast_to(np.zeros(2), (3,))")
    assert evidence.details.place == f"{__file__}:{in_numpy.__code__.co_firstlineno + 1}"


def test_the_files_of_a_pass_that_is_installed_are_the_users(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "site-packages"
    for name, text in (
        ("mine", "import theirs\n\n\ndef act(module):\n    theirs.act()\n"),
        ("theirs", "def act():\n    1 / 0\n"),
    ):
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text(text)
    sys.path.insert(0, str(packages))
    try:
        with pytest.raises(ZeroDivisionError) as caught:
            importlib.import_module("mine").act(None)
    finally:
        sys.path.remove(str(packages))
    error = caught.value.with_traceback(caught.tb.tb_next)  # without the frame of this file, which is not installed
    assert [frame.rpartition(" in ")[2] for frame in users_frames(error)] == ["act: theirs.act()"]


def test_known_failures_are_accepted() -> None:
    assert of(check(Sum, made(refuses), known=["crash: Mine: ValueError"]), OracleName.CRASH).reason == "known"
    with pytest.raises(OracleFailure):
        check(Sum, made(refuses), known=["crash: Other"])


class Plain:
    """No pass."""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Plain, "Plain() gives a Plain, not a pass; give a pass, MyPass()"),
        (lambda module: module, "<lambda>() raised TypeError"),
        (None, "check was given None, not a pass"),
        ("FoldConstnt", "relax.transform has no 'FoldConstnt'; did you mean FoldConstant?"),
        ("tests.oracles.test_users_pass:mde", "'tests.oracles.test_users_pass' has no 'mde'; did you mean made?"),
        ("tests.oracles.test_users_pass:chek", "'tests.oracles.test_users_pass' has no 'chek'"),
        ("a b", 'names no pass: write "FoldConstant"'),
    ],
)
def test_what_is_no_pass_is_one_line_that_says_what_to_write(given: Any, said: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # its text is compared below
        check(Sum, given)
    assert said in str(caught.value)
    assert ("did you mean" in str(caught.value)) is ("did you mean" in said), "only what the file defines is meant"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        Identity,
        lambda: made(lambda module: module),
        "relax.transform.FoldConstant",
        "relax.FoldConstant",
        "oracles.users_pass:Identity",
        "oracles.users_pass:Identity(['main'])",
        'oracles.users_pass:Identity(names=["main"])',
    ],
)
def test_the_forms_of_a_pass(given: Any) -> None:
    assert all(each.outcome is not Outcome.FAIL for each in check(Sum, given))


def declared_less() -> tvm.IRModule:
    """A variable is declared to be less than its value is, as any may be."""
    vector = relax.TensorType((1,), "float32")
    builder, x, lv = relax.BlockBuilder(), relax.Var("x", vector), relax.Var("lv", relax.TensorType())
    with builder.function("main", [x]):
        builder.emit_normalized(relax.VarBinding(lv, builder.normalize(relax.op.add(x, x))))
        inner = builder.emit(relax.op.nn.relu(builder.match_cast(lv, vector)))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(inner)))
    return builder.get()


@I.ir_module
class Relus:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.nn.relu(R.nn.relu(x))


def rewriting(made_of: Callable[[Any], Any]) -> Any:
    def transform(module: tvm.IRModule) -> tvm.IRModule:
        main = rewrite_call(OUTER, lambda _, matched: made_of(matched[OPERAND]), module["main"])
        return tvm.IRModule({"main": main})

    return made(transform)


def test_what_tvm_cleans_up_behind_a_rewrite_is_not_held_against_it() -> None:
    """EliminateCommonSubexpr puts a variable that is declared to be less in the place of one with the type."""
    found = of(check(declared_less(), rewriting(relax.op.nn.relu)), OracleName.WELL_FORMED)
    assert (found.outcome, found.reason) == (Outcome.SKIP, CLEANED)


def clipped() -> tvm.IRModule:
    vector, builder = relax.TensorType((1,), "float32"), relax.BlockBuilder()
    x = relax.Var("x", vector)
    declared = relax.Var("lv", relax.TensorType(None, "float32")), relax.Var("lv3", relax.TensorType((1,), None))
    with builder.function("main", [x]):
        builder.emit_normalized(relax.VarBinding(declared[0], builder.normalize(relax.op.clip(x, 0, 1))))
        inner = builder.emit(relax.op.clip(builder.match_cast(declared[0], vector), 0, 1))
        builder.emit_normalized(relax.VarBinding(declared[1], builder.normalize(relax.op.clip(inner, 1, 100))))
        builder.emit_func_output(declared[1])
    return builder.get()


def test_what_tvm_cleans_up_between_rewrites_is_not_held_against_the_pass_either() -> None:
    """The first round of rewriting leaves equal calls, and the second one sees what became of them."""
    operand = wildcard()
    inner = is_op("relax.clip")(operand, wildcard(), wildcard())
    outer = is_op("relax.clip")(inner, wildcard(), wildcard())

    def narrowed(call: Any, matched: Any) -> Any:
        bounds = [[int(each.args[at].value) for each in (call, matched[inner])] for at in (1, 2)]
        low, high = max(bounds[0]), min(bounds[1])
        if low > high:
            return call
        inferred = relax.BlockBuilder().normalize(relax.op.clip(relax.Var("x", matched[operand].ty), low, high)).ty
        alike = tvm_ffi.structural_equal(inferred, call.ty)
        return relax.op.clip(matched[operand], low, high) if alike else call

    def transform(module: tvm.IRModule) -> tvm.IRModule:
        return tvm.IRModule({"main": rewrite_call(outer, narrowed, module["main"])})

    found = of(check(clipped(), made(transform)), OracleName.WELL_FORMED)
    assert (found.outcome, found.reason) == (Outcome.SKIP, CLEANED)


def behind_a_cast() -> tvm.IRModule:
    vector = relax.TensorType((1,), "float32")
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType())
    with builder.function("main", [x]):
        inner = builder.emit(relax.op.nn.relu(builder.match_cast(x, vector)))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(inner)))
    return builder.get()


def test_the_matcher_sees_through_casts_and_what_the_documentation_says_of_it_helps() -> None:
    with pytest.raises(OracleFailure, match="well-formed fail"):
        check(behind_a_cast(), rewriting(relax.op.nn.relu))
    page = (Path(__file__).parents[2] / "docs" / "own-pass.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "matched[" in block]
    names: dict[str, Any] = {"relax": relax, "tvm_ffi": tvm_ffi, "OPERAND": OPERAND}
    exec(code, names)

    def transform(module: tvm.IRModule) -> tvm.IRModule:
        return tvm.IRModule({"main": rewrite_call(OUTER, names["rewriter"], module["main"])})

    assert bindings(made(transform)(Relus)) == 1, "where there is no cast it rewrites"
    check(behind_a_cast(), made(transform))
    check(Nested, made(transform))
    assert bindings(made(transform)(Nested)) == 2, "an operand may be a call"


@I.ir_module
class Nested:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.nn.relu(R.nn.relu(R.abs(x)))


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor(dtype="float32")) -> R.Tensor((2,), "float32"):
        lv = R.nn.relu(R.nn.relu(x))
        out = R.match_cast(lv, R.Tensor((2,), "float32"))
        return out  # noqa: RET504  # a `match_cast` is no value


def test_a_callback_gets_a_variable_where_a_match_cast_is_matched() -> None:
    given: list[Any] = []
    rewrite_call(OUTER, lambda call, _: given.append(call) or call, Cast["main"])
    assert any(isinstance(each, relax.Var) for each in given)


@pytest.mark.parametrize(
    ("made_of", "said"),
    [
        (relax.op.negative, "numeric fail"),
        (lambda x: relax.op.astype(relax.op.nn.relu(x), "float16"), "well-formed fail"),
    ],
)
def test_a_wrong_rewrite_is_the_pass_s(made_of: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(OracleFailure, match=said):
        check(Relus, rewriting(made_of))
