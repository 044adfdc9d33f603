import pytest

from fuzzer.findings.family import symptom_of_verdict
from fuzzer.findings.symptom import Symptom
from oracles.core.verdict import Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName

DERIVE = "src/relax/analysis/type_analysis.cc:relax::CallRetTypeDeriver::Derive"


def symptom(oracle: OracleName, kind: str, message: str, *frames: str) -> Symptom:
    evidence = Evidence(kind, message, frames)
    return symptom_of_verdict(Verdict(oracle, Outcome.FAIL, "FuseOps", evidence=evidence))


def test_a_check_is_its_condition_and_the_function_that_holds_it() -> None:
    message = "Check failed: (left.same_as(right)) is false: Inconsistent buffers {} and A mapped to the same var"
    frame = "src/relax/transform/fuse_tir.cc:relax::Collector::Collect"
    found = symptom(OracleName.CRASH, "InternalError", message.format("T_add"), frame)
    assert found.core == "not (left.same_as(right)) in Collect"
    assert found == symptom(OracleName.LOCALITY, "InternalError", message.format("compute"), frame)
    assert found.laddered


def test_a_second_run_is_another_thing() -> None:
    first = symptom(OracleName.WELL_FORMED, "ill-formed", "Var x is not defined.")
    second = symptom(OracleName.IDEMPOTENCE, "ill-formed", "Var x is not defined.")
    assert second.core == f"{first.core}, in a second run"


def test_what_nothing_defines() -> None:
    value, local, function = (
        symptom(OracleName.WELL_FORMED, "ill-formed", f"{name} is not defined.").core
        for name in ("Var n", "DataflowVar lv", 'GlobalVar I.GlobalVar("f")')
    )
    assert value == local, "whether a block is one of dataflow depends on the module"
    assert value != function


VISITOR, FUSE = (
    "src/relax/expr_functor.h:relax::ExprFunctor::VisitExprDefault_",
    "src/relax/transform/fuse_ops.cc:relax",
)


@pytest.mark.parametrize(
    ("one", "other", "another"),
    [
        (
            ("Check failed: (workspace_var_main_.defined()) is false: ", f"{FUSE}::Provider::VisitExpr_"),
            ("Check failed: (workspace_var_param_.defined()) is false: ", f"{FUSE}::Provider::VisitExpr_"),
            ("Check failed: (workspace_var_param_.defined()) is false: ", f"{FUSE}::Provider::VisitBinding_"),
        ),
        (
            ("Check failed: (memo_.count(expr)) is false: no group", f"{FUSE}::Builder::UpdateGroupDependencies"),
            ("Check failed: (memo_.count(ffi::GetRef<Expr>(vn))) is false: ", f"{FUSE}::Translator::VisitExpr_"),
            ("Check failed: (group_.count(expr)) is false: no group", f"{FUSE}::Builder::UpdateGroupDependencies"),
        ),
        (
            ("Do not have a default for relax.expr.ExternFunc", VISITOR),
            ("Do not have a default for ir.StringImm", VISITOR),
            ("Do not have a default for relax.expr.If", VISITOR),
        ),
    ],
)
def test_which_of_several_is_missed_first_depends_on_the_module(
    one: tuple[str, str], other: tuple[str, str], another: tuple[str, str]
) -> None:
    """The last is another cause: planted pairs stay apart."""
    found, same, apart = (symptom(OracleName.CRASH, "InternalError", *each) for each in (one, other, another))
    assert found == same
    assert found != apart


def test_what_a_claim_says_of_a_tensor_a_program_shows() -> None:
    claim = "each tensor is allocated as it was: a tensor is allocated in another {}"
    said, apart = (symptom(OracleName.POSTCONDITION, "not-done", claim.format(each)) for each in ("device", "place"))
    message = "ValueError: Mismatched compute.device_id on argument #1 when calling:\n `f(x)`, expected to match"
    assert said.core == symptom(OracleName.NUMERIC, "run-error", message).core == "a value of another device"
    assert apart.core != said.core
    dims = "kernels have the dims of their calls: a kernel has other dims than its call"
    assert symptom(OracleName.POSTCONDITION, "not-done", dims).core == "a value of another shape"


def test_a_value_that_was_killed_is_seen_by_the_claim_and_by_the_program() -> None:
    claim = "nothing is used after it was killed: a variable is used after it was killed"
    message = "TypeError: Check failed: (opt_ptr.has_value()) is false:  expect a Tensor but get {}"
    frame = "src/runtime/vm/builtin.cc:runtime::vm::CheckTensorInfo"
    said = symptom(OracleName.POSTCONDITION, "not-done", claim)
    none, other = (symptom(OracleName.NUMERIC, "run-error", message.format(each), frame) for each in ("None", "int"))
    assert said == none != other


def test_shapes_that_do_not_broadcast_are_a_value_of_another_shape() -> None:
    frame = "src/relax/op/op_common.cc:relax::{}"
    refused, other = (
        symptom(OracleName.CRASH, "ValueError", "In Op(relax.add), shapes differ", frame.format(each))
        for each in ("InferBinaryBroadcastShape", "InferTypeUnary")
    )
    shown = symptom(OracleName.NUMERIC, "wrong-shape", "results differ (bit-exact)")
    assert refused.core == shown.core != other.core
    assert refused.refused


@pytest.mark.parametrize(("shape", "core"), [("()", "a value of another rank"), ("(2,)", "a value of another shape")])
def test_a_result_of_another_rank_is_what_its_type_says(shape: str, core: str) -> None:
    evidence = Evidence("wrong-shape", "results differ", details=Details(numbers=("[]", "(1,)", shape, shape)))
    failed = Verdict(OracleName.NUMERIC, Outcome.FAIL, "FuseOps", evidence=evidence)
    assert symptom_of_verdict(failed).core == core


def test_a_legalization_that_fails_in_a_build_leaves_its_operator() -> None:
    frame = "relax/transform/legalize_ops/manipulate.py:reshape_call_te"
    message = "InternalError: R.abs: CodeGenVM cannot emit this Relax operator directly."
    built, left = (
        symptom(OracleName.NUMERIC, "does-not-build", *each) for each in (("AssertionError: ", frame), (message,))
    )
    assert built == left
    assert symptom(OracleName.CRASH, "AssertionError", "", frame).place == "manipulate.py:reshape_call_te"


def test_what_a_shared_helper_refuses_is_one_thing_whichever_pass_calls_it() -> None:
    message, frame = "Check failed: (value) is false: Explicit binding", "src/relax/utils.cc:relax::InferSymbolicVarMap"
    assert symptom(OracleName.CRASH, "ValueError", message, frame).place == frame
    assert not symptom(OracleName.CRASH, "ValueError", message, f"{FUSE}::Rewriter::Run").place


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("does-not-build", 'ValueError: Argument 0 type mismatch: expected R.Any, given R.Tensor((1,), dtype="int8")'),
        ("does-not-build", "ValueError: Number of arguments and parameters mismatch: Function I.GlobalVar('f') has"),
        (
            "run-error",
            "InternalError: Check failed: static_cast<size_t>(gfunc.num_args) == args.size() (0 vs. 1) : Invoking",
        ),
        (
            "run-error",
            "Check failed: (is_func) is false: ErrorContext(fn=f, loc=x)  expect a Function but get",
        ),
    ],
)
def test_a_call_that_does_not_fit_is_refused_in_several_ways(kind: str, message: str) -> None:
    assert symptom(OracleName.NUMERIC, kind, message, DERIVE).core == "a call does not fit its function"


def test_a_value_without_a_type_shows_at_whatever_takes_it() -> None:
    messages = (
        'Argument 0 type mismatch: expected R.Tensor((), dtype="float64"), given R.Any',
        "Check failed: (tensor_ty) is false: shape_of expects a tensor input, but received R.Any; use MatchCast",
        "Reshape requires the input data to be Tensor. However, the given one is relax.AnyType",
        "Operator relax.memory.view expects first argument to be a tensor, but received lv10 with type R.Any",
    )
    assert {symptom(OracleName.CRASH, "ValueError", each, DERIVE).core for each in messages} == {
        "a value has lost its type"
    }
    wanted = "Argument 0 type mismatch: expected R.Callable((T.int64, R.Any), R.Any, True), given R.Tensor((4, 3))"
    assert symptom(OracleName.CRASH, "ValueError", wanted, DERIVE).core != "a value has lost its type"


def test_a_callee_without_a_type_has_lost_it() -> None:
    said = "Check failed: (opt) is false: Call->op must contains a function type"
    assert symptom(OracleName.CRASH, "InternalError", said, "b.cc:F").core == "a value has lost its type"


def test_an_operators_rules_name_themselves() -> None:
    names = ("start", "end")
    found = {
        symptom(
            OracleName.CRASH,
            "ValueError",
            f"The argument of relax.op.grad.{name}_checkpoint should be a Var.",
            f"src/relax/op/tensor/grad.cc:relax::InferType{name.title()}Checkpoint",
        )
        for name in names
    }
    assert {each.core for each in found} == {"The argument of an operator should be a Var. in InferType"}
    assert all(each.refused for each in found)
    elsewhere = "src/relax/transform/x.cc:relax::F"
    assert not symptom(OracleName.CRASH, "ValueError", "Op(relax.add) is none", elsewhere).refused
    assert "relax.add" in symptom(OracleName.CRASH, "ValueError", "Op(relax.add) is none", elsewhere).core


def test_what_a_script_reads_instead_does_not_count() -> None:
    became = {
        symptom(OracleName.ROUNDTRIP, "reads-otherwise", f"Binding.value: X became {name}").core for name in ("Y", "Z")
    }
    assert became == {"reads-otherwise: Binding.value: X"}
    missing = {
        symptom(OracleName.ROUNDTRIP, "not-parsed", f"'Var' object has no attribute '{name}'").core
        for name in ("as_ty", "get_symbolic_vars")
    }
    assert len(missing) == 1


def test_a_value_of_another_block_is_out_of_reach_in_two_ways() -> None:
    used = symptom(OracleName.WELL_FORMED, "ill-formed", "DataflowVar lv is used outside DataflowBlock")
    undefined = symptom(OracleName.WELL_FORMED, "ill-formed", "DataflowVar lv is not defined.")
    assert used == undefined


def test_a_legalization_is_to_blame_whoever_calls_it() -> None:
    frames = ("src/ir/prim/op.cc:prim::max_value", "topi/reduction.py:min", "relax/utils.py:gen_call_tir_inputs")
    found = symptom(OracleName.CRASH, "InternalError", "Cannot decide max_value for type bool", *frames)
    assert (found.place, found.laddered) == ("reduction.py:min", False)
    helper = symptom(OracleName.CRASH, "AssertionError", "", "relax/utils.py:_convert", "relax/x.py:f")
    assert not helper.place


@pytest.mark.parametrize(
    ("oracle", "kind", "message", "frames"),
    [
        (OracleName.CRASH, "signal 11", "signal 11 during crash", ()),
        (OracleName.NUMERIC, "wrong-value", "results differ (lossy)", ()),
        (OracleName.WELL_FORMED, "signature", "a public function has another return type", ()),
        (OracleName.CRASH, "RuntimeError", "Back optional access", ("ir/transform.py:__call__",)),
    ],
)
def test_some_words_tell_nothing_of_the_cause(
    oracle: OracleName, kind: str, message: str, frames: tuple[str, ...]
) -> None:
    assert symptom(oracle, kind, message, *frames).mute


def test_a_death_in_preparation_is_one_in_a_run() -> None:
    prepared = symptom(OracleName.CRASH, "signal 11", "signal 11 during prepare")
    assert prepared == symptom(OracleName.CRASH, "signal 11", "signal 11 during crash")
    assert prepared != symptom(OracleName.CRASH, "signal 8", "signal 8 during crash")


def test_a_claim_is_told_with_its_oracle() -> None:
    found = symptom(OracleName.POSTCONDITION, "not-done", "no reshape is left")
    assert found == Symptom("postcondition: not-done: no reshape is left")
