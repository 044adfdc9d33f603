"""Messages of TVM 0.27.0.post1 as they were met, and what must stay of them."""

import sys

import pytest

from fuzzer.findings.signature import _plain, death_verdict, normalise, signature
from fuzzer.store.door import MOST_FINDINGS
from fuzzer.worker.death import Died
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName

# ruff: noqa: ISC004 - the long messages are whole as they stand
SAME = [
    ("type of Tuple: PrimType.dtype: int64 became int32", "type of Tuple: PrimType.dtype: bool became float8_e4m3fn"),
    ("type of Tuple: PrimType.dtype: int64 became int32", "type of Tuple: PrimType.dtype: dtype became dtype"),
    ("Var lv1 is not defined.", "Var storage is not defined."),
    ("Variable gv could not be found in any group", "Variable lv12 could not be found in any group"),
    ('GlobalVar I.GlobalVar("helper") is not defined.', 'GlobalVar I.GlobalVar("fused_relax_exp1") is not defined.'),
    (
        'Argument 0 type mismatch: expected R.Tensor((2, 2), dtype="float32"), given R.Tensor((2, 2), dtype="float16")',
        'Argument 2 type mismatch: expected R.Tensor((n * 2, 1), dtype="int8"), given R.Tensor(dtype="int8", ndim=2)',
    ),
    (
        "Check failed: static_cast<size_t>(gfunc.num_args) == args.size() (1 vs. 2) : Invoking function "
        "fused_relax_matmul_pyext expects 1 arguments (fget_param), but 2 arguments were provided.",
        "Check failed: static_cast<size_t>(gfunc.num_args) == args.size() (2 vs. 3) : Invoking function step "
        "expects 2 arguments (p0, fget_param), but 3 arguments were provided.",
    ),
    (
        "Binary operators must have the same datatype for both operands.  However, R.minimum(p1, p3) uses datatype "
        'T.int32 on the LHS (Type of R.Tensor((2,), dtype="int32")), and datatype T.float16 on the RHS.',
        "Binary operators must have the same datatype for both operands.  However, R.add(a, lv) uses datatype T.bool.",
    ),
    (
        "Check failed: (maybe_var) is false: The signature of target buffer exprected an independent Var, but got "
        "n * T.int64(3).",
        "Check failed: (maybe_var) is false: The signature of target buffer exprected an independent Var, but got d.",
    ),
    ("Invalid layout ?@", "Invalid layout A@"),
    ("object at 0x7f01c0ffee is gone", "object at 0x55aa is gone"),
    ("cannot open /usr/lib/a/b/kernel.o", "cannot open /opt/x/kernel.o"),
    (
        "Number of arguments and parameters mismatch: Function local_func2 has type R.Callable((R.Tensor((3, 4, 2), "
        'dtype="float32"),), R.Tensor((3, 4, 2), dtype="float32"), True) and accepts 1 parameters, but was called '
        "with 2 arguments ((output1, workspace_2))",
        "Number of arguments and parameters mismatch: Function f has type R.Callable((R.Tensor((d0,), "
        'dtype="int8"), R.Tensor((), dtype="int8")), R.Tensor((d0,), dtype="int8"), False) and accepts 2 parameters, '
        'but was called with 3 arguments ((x, metadata["ir.GenericConst"][0], R.const(1.0, "float32")))',
    ),
    ("DataflowVar workspace_main is not defined.", "DataflowVar lv62 is not defined."),
    ("DataflowVar workspace_main2 is used outside DataflowBlock.", "DataflowVar gv is used outside DataflowBlock."),
    (
        "ValueError: Mismatched T_maximum.device_id on argument #1 when calling: `kernel_07118d01208e372a(lv: "
        "Tensor([2, n], float32), T_maximum: Tensor([2, n], float32))`,\n  expected device_id to match",
        "ValueError: Mismatched compute.device_id on argument #0 when calling: `relu_llvm(x: Tensor([2], int8))`,\n so",
    ),
    ("contains duplicate global symbol: topk", "contains duplicate global symbol: written_double"),
    ("Inconsistent buffers T_add and A mapped to lv", "Inconsistent buffers compute and lv mapped to lv3"),
    ("PrimExpr 2 * k * 3 in function main has not been computed", "PrimExpr m in function f1 has not been computed"),
    (
        "Expected boolean argument for ! operator, but received T.te.tensor_load(metadata[0][1])",
        "Expected boolean argument for ! operator, but received T.te.tensor_load(metadata[0][1], ax0, ax1)",
    ),
    (
        'contains an impure call: R.print(lv, format=R.str("{}")). Please set relax.force_pure',
        'contains an impure call: R.print(R.shape([2]), x, format=R.str("")).',
    ),
    (
        "InternalError: CodeGenVM cannot emit this Relax operator directly. Run a pass.\nOffending call:\n"
        'R.ewise_fma(alloc3, p2, metadata["ir.GenericConst"][0])',
        "InternalError: R.ewise_fma: CodeGenVM cannot emit this Relax operator directly.",
    ),
]
DIFFERENT = [
    ("'GlobalVar' object has no attribute 'name'", "'TupleType' object has no attribute 'dtype'"),
    ("module 'tvm.topi.nn' has no attribute 'pixel_shuffle'", "module 'tvm.topi.nn' has no attribute 'other'"),
    ("Invalid type: relax.expr.MatchCast", "Invalid type: relax.expr.If"),
    (
        "ValueError: Mismatched B.strides on argument #1 when calling: `double(A: Tensor([2], float32))`,",
        "ValueError: Mismatched B.device_id on argument #1 when calling: `double(A: Tensor([2], float32))`,",
    ),
    ("contains an impure call: R.print(x). Please", "contains an impure call: R.assert_op(x). Please"),
    ("DataflowVar lv is used outside DataflowBlock.", "DataflowVar lv cannot be used as a dependent type expression."),
    (
        "Check failed: (!group_map.count(obj)) is false:",
        "Check failed: (it_group != obj2group_.end()) is false: Variable",
    ),
    (
        "CodeGenVM cannot handle this intrinsic now:\nOp(relax.tensor_to_shape)",
        "CodeGenVM cannot handle this intrinsic now:\nOp(relax.wrap_param)",
    ),
    (
        'unknown intrinsic ir.Op(span=None, ty=ir.Type(span=None), name="tirx.asinh", description="", arguments=())',
        'unknown intrinsic ir.Op(span=None, ty=ir.Type(span=None), name="tirx.acos", description="", arguments=())',
    ),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_names_numbers_and_types_of_one_module_do_not_matter(left: str, right: str) -> None:
    assert normalise(left) == normalise(right)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_what_tells_defects_apart_stays(left: str, right: str) -> None:
    assert normalise(left) != normalise(right)


def test_a_message_without_a_line_is_empty() -> None:
    assert normalise(" \n ") == ""


def test_the_id_depends_on_pass_and_oracle_but_not_on_the_depth_of_recursion() -> None:
    frames = ("src/relax/a.cc:Visit", "src/relax/a.cc:Run", "src/relax/a.cc:Visit")
    base = Verdict(OracleName.CRASH, Outcome.FAIL, "A", evidence=Evidence("ValueError", "no", frames))
    deeper = Verdict(OracleName.CRASH, Outcome.FAIL, "A", evidence=Evidence("ValueError", "no", (*frames, "x")))
    other = Verdict(OracleName.CRASH, Outcome.FAIL, "B", evidence=Evidence("ValueError", "no", frames))
    assert signature(base).id == signature(deeper).id
    assert signature(base).id != signature(other).id
    assert len(signature(base).id) == 10


def test_a_verdict_that_passed_has_no_signature() -> None:
    with pytest.raises(ValueError, match="has no signature"):
        signature(Verdict(OracleName.CRASH, Outcome.PASS, "A"))


def test_the_breadcrumb_names_the_pass_that_killed_the_process() -> None:
    verdict = death_verdict(Died.by_exit_code(-11, "idempotence: VMShapeLower"), "A > B")
    assert verdict.culprit == "VMShapeLower"
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "signal 11"


def test_a_message_is_read_once_however_often_it_is_asked_for() -> None:
    evidence = Evidence("ValueError", "ir.Op(name=" * 100)
    failed = Verdict(OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=evidence)
    before = _plain.cache_info().misses
    assert {signature(failed).id for _ in range(10)} == {signature(failed).id}
    assert _plain.cache_info().misses <= before + 1


def test_messages_of_all_findings_are_read_once() -> None:
    """One after the other, again and again: of fewer that are kept none would still be there."""
    messages = [f"{''.join(chr(97 + int(digit)) for digit in str(number))} is wrong" for number in range(MOST_FINDINGS)]
    before = _plain.cache_info().misses
    for message in messages * 2:
        normalise(message)
    assert _plain.cache_info().misses == before + MOST_FINDINGS


def test_no_long_message_is_kept() -> None:
    message = "a message of " + "many words " * 10_000
    before = sys.getrefcount(message)
    assert normalise(message)
    assert sys.getrefcount(message) == before
