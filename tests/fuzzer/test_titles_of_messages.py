"""Messages of TVM in titles: their essence, with the values that they name, on one line."""

from __future__ import annotations

import pytest
from titled import Argsort, Exponent, Plain, case_of, crash_of, judged

from fuzzer.repro.essence import essence
from fuzzer.repro.title import MOST, title_of
from oracles.core.verdict import Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName


def test_a_message_does_not_end_where_it_says_only_the_operator() -> None:
    error = "In relax.take, the axis of the operand is one that the operator does not have " + "and more " * 9
    said = title_of(case_of(Argsort, "FuseOps"), crash_of(error))
    assert said == "FuseOps fails on relax.argsort"


def test_a_title_leaves_out_from_a_to_b_where_both_are_too_long() -> None:
    types = "a float32 tensor of shape (2, 3, 4) {} a float16 tensor of shape (4, 3, 2) in the same place"
    for between, expected in (("to", ": It changes a type"), ("and", "")):
        said = title_of(case_of(Argsort, "FuseOps"), crash_of(f"It changes a type from {types.format(between)}"))
        assert said == f"FuseOps fails on relax.argsort{expected}"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Check failed: (memo_.count(var)) is false: ", "the check `memo_.count(var)` fails"),
        ("Check failed: a.size() == b.size() (1 vs. 0) : Dimension mismatch", "Dimension mismatch"),
        ("Operators must agree. However, R.add(x, y) uses T.float32", "Operators must agree"),
        (
            'In ir.Op(name="relax.add", arguments=(ir.ArgumentInfo(),), support_level=10), the dim is T.int64(4)',
            "In relax.add, the dim is 4",
        ),
        (
            "Check failed: (is_func) is false: ErrorContext(fn=f, annotation=R.Tensor((2,)))  expect a Function",
            "expect a Function",
        ),
        (
            'Expression of type R.Tensor((n, 2), dtype="int8") cannot be R.Tensor(dtype="int8", ndim=1)',
            "Expression of type (n, 2) int8 cannot be int8 of rank 1",
        ),
        ("", "an assertion in Visit does not hold"),
        ("Back optional access", "an empty Optional is read"),
        (
            "Check failed: (f.has_value()) is false: Cannot find underlying compiled tirx function of VMTIRFunc main",
            "no kernel is compiled for main",
        ),
        (
            """Operator-specific validation (FValidate) for relax.call_tir identified error:
Argument 0 type mismatch: expected R.Tensor((1,), dtype="float32"), given R.Tensor((1,), dtype="float16")""",
            "call to relax.call_tir: argument 0 is (1,) float16 instead of (1,) float32",
        ),
        (
            "Check failed: (analyzer->CanProve(floormod(dom->extent, shard) == 0)) is false: ",
            "an extent is no multiple of the shard",
        ),
        (
            "Check failed: reg < frame->register_file.size() (18014398509481984 vs. 2) : ",
            "it writes to the void register",
        ),
        (
            "Function R.func() has true for relax.force_pure but false for is_pure",
            "relax.force_pure is left on an impure function",
        ),
        (
            ("An error occurred in the schedule primitive 'transform_layout'.\n\nThe IR is:\n# from tvm\n"
            "Error message: ScheduleError: Buffer te_layout_transform has elements of type T.bool, but the "
            "transformation fills padding with T.index_map(lambda i: (T.float32(0.0),)), which is of type float32"),
            "a bool buffer is padded with float32",
        ),
        (
            'Argument 0 type mismatch: expected R.Tensor((1,), dtype="float32"), given R.Tensor(dtype="float32")',
            "argument 0 lacks the shape of its parameter",
        ),
        (
            ("Mismatched type on argument #4 when calling: `ir.Call(0: ir.Type, 4: Array<ir.Type>) -> ir.Call`. "
            "Expected `Array<ir.Type>` but got `Array[index 0: ir.Var]`"),
            "ir.Call is given Array[index 0: ir.Var] for Array<ir.Type>",
        ),
    ],
)  # fmt: skip
def test_the_essence_of_an_error(message: str, said: str) -> None:
    evidence = crash_of(message).evidence
    assert evidence is not None
    assert essence(evidence) == said


_SAID = {
    "Number of arguments and parameters mismatch: Function lv has type R.Callable((R.Tensor((1,)),), R.Any) and "
    "accepts 1 parameters, but was called with 2 arguments ((x, workspace))":
        "lv takes 1 arguments, but is given 2: (x, workspace)",
    "Check failed: gfunc.num_args == args.size() (1 vs. 3) : Invoking function main expects 1 arguments (x), "
    "but 3 arguments were provided.":
        "main takes 1, but is given 3",
    "Binary operators must have the same datatype for both operands. However, R.add(x, y) uses datatype "
    'T.float32 on the LHS (Type of R.Tensor((1,), dtype="float32")), and datatype T.int64 on the RHS (Type).':
        "relax.add of float32 and int64 is ill-typed",
    "Matmul requires the reduction length of the operands to be equal. However, the LHS x has shape "
    "R.shape([2]), while the RHS y has shape R.shape([T.int64(1), n]). The reduction dimensions are not equal.":
        "relax.matmul of shapes (2) and (1, n) is ill-typed",
    "Check failed: (IsBaseOf(a, b)) is false: The `out_ty` argument for R.call_tir must be compatible with the "
    "PrimFunc.  However, the PrimFunc's signature implies that the output should be "
    'R.Tensor((2, 3), dtype="float32"), but the `out_ty` argument was T.Tuple(R.Tensor, R.Tensor)':
        "out_ty of relax.call_tir is a tuple, but its PrimFunc returns (2, 3) float32",
    "Check failed: (tensor) is false: Expected TensorType, but got R.Callable((R.Tensor,), R.Any, False)":
        "a function is taken for a tensor",
    "Check failed: (slot->value_computed) is false: PrimExpr s1 * T.int64(4) in function "
    'I.GlobalVar("main") has not been computed':
        "the dim s1 * 4 of main has not been computed",
    "Mismatched compute.device_id on argument #1 when calling: `kernel(lv)`, expected to match lv2.device_id":
        "compute and lv2 of a kernel differ in device_id",
    "Cannot treat type `ir.GenericConst` as type `ir.Var`": "a constant is taken for a variable",
    "Function 0x557788682920 is annotated as pure but contains an impure call":
        "a function is annotated as pure but contains an impure call",
    "Do not have a default for relax.expr.If": "it has no case for relax.expr.If",
    "Cannot decide min_value for typeT.bool": "Cannot decide min_value for type bool",
    'Argument 0 type mismatch: expected R.Tensor((1,), dtype="float32", vdevice="llvm:-1:global"), given '
    'R.Tensor((1,), dtype="float32")':
        "argument 0 lacks the vdevice of its parameter",
    "The argument of relax.op.grad.end_checkpoint should be a Var": "relax.grad.end_checkpoint is given no variable",
    "'TupleType' object has no attribute 'dtype'": "a tuple is taken for a tensor",
    "Check not null: ptr": "a null reference is read",
    "Tensor dimension mismatch in read ndim = 1, indices.size=0": "a 1-D tensor is read at 0 indices",
    "Check failed: (maybe_var) is false: The signature of target buffer exprected an independent Var, but got "
    "T.max(n - T.int64(1), T.int64(0)).":
        "a buffer has the dim T.max(n - 1, 0)",
    "Expected mapping function to return tvm.ir.Expr or a list of tvm.ir.Expr.  Instead received 0 of type "
    "<class 'int'>.":
        "an index map gives 0 of type int",
    "type of Call: TensorType.dtype: PrimType became NoneType": "the type of a Call loses its dtype",
    "type of ExternFunc: EnvFunc.name: String became String": "the derive_func in the type of an ExternFunc changes",
    "Add: other operands": "the operands of an arithmetic expression (Add) change",
}  # fmt: skip


@pytest.mark.parametrize("message", _SAID)
def test_what_tvm_says_of_a_program_is_told_with_its_values(message: str) -> None:
    evidence = crash_of(message).evidence
    assert evidence is not None
    assert essence(evidence) == _SAID[message]


def test_titles_fit_on_a_line() -> None:
    verdict = crash_of("the width of the thing is not what it was " * 9)
    title = title_of(case_of(Plain, "FuseOps"), verdict)
    assert len(title) <= MOST
    assert title.startswith("FuseOps fails: the width of the thing is not what it")
    assert title.endswith(" ...")  # a word, and none that begins something
    assert title_of(case_of(Argsort, "FuseOps"), verdict) == "FuseOps fails on relax.argsort", "it says enough"


def test_a_pass_with_a_long_name_has_a_title() -> None:
    verdict = Verdict(OracleName.SEQUENTIAL, Outcome.FAIL, "make_" * 30, evidence=Evidence("not-equal", "other"))
    title = title_of(case_of(Argsort, "FuseOps"), verdict)
    assert title.startswith("make_make_")
    assert len(title) <= MOST


def test_a_message_is_cut_where_a_clause_ends() -> None:
    said = "the first of the layouts does not fit: what came in is not among those that it knows of at all or of others"
    title = title_of(case_of(Argsort, "FuseOps"), crash_of(said))
    assert title == "FuseOps fails on relax.argsort: the first of the layouts does not fit"


def test_what_is_cut_within_a_clause_says_so() -> None:
    case = case_of(Argsort, "FuseOps")
    said = "basic_string::replace: __pos (which is 18446744073709551615) > this->size() that is left of the string here"
    assert title_of(case, crash_of(said)).endswith("basic_string::replace"), "what stands in brackets ends no clause"
    blame = "the function that infers the types of what a function returns and of each of its parameters"
    title = title_of(case, crash_of("x"), blame=blame)
    assert len(title) <= MOST
    assert title.endswith(" ...")


def test_no_number_becomes_a_whole_one() -> None:
    """The title said -1, where the report below it said -0.999995."""
    numbers = ("[]", "-0.999995 at index [0]", "-5.007e-06; 2 of 4 elements differ", "-5.007e-06")
    evidence = Evidence("not-as-documented", "wrong", details=Details(operator="relax.exp", numbers=numbers))
    assert " instead of -0.999995 at" in judged("LegalizeOps", Exponent, evidence)
