import msgspec
import pytest

from fuzzer.findings.family import UNKNOWN, Edit, Family, Skeleton, Traits, family, placed
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName


def failed(oracle: OracleName, culprit: str, kind: str, message: str, *frames: str) -> Verdict:
    return Verdict(oracle, Outcome.FAIL, culprit, evidence=Evidence(kind, message, frames))


DEPENDENT = ("ill-formed", "DataflowVar cannot be used as a dependent type expression.")


def test_the_place_is_the_most_elementary_pass_that_shows_it() -> None:
    traits = Traits("CanonicalizeBindings", Skeleton(("reshape",), ("cast",)))
    one = family(failed(OracleName.WELL_FORMED, "FuseTIR", *DEPENDENT), traits)
    other = family(failed(OracleName.WELL_FORMED, "RemoveUnusedOutputs", *DEPENDENT), traits)
    assert one == other
    assert one.place == "CanonicalizeBindings"
    assert family(failed(OracleName.WELL_FORMED, "LazyGetInput", *DEPENDENT), Traits("LazyGetInput")) != one


def test_constructs_count_where_the_symptom_is_mute_and_operators_never_do() -> None:
    died = failed(OracleName.CRASH, "FuseOps", "signal 11", "signal 11 during crash")
    plain, with_if = Traits("FuseOps", Skeleton(("abs",))), Traits("FuseOps", Skeleton(("abs",), ("if",)))
    assert family(died, plain) != family(died, with_if)
    assert family(died, plain) == family(died, Traits("FuseOps", Skeleton(("exp",))))
    told = failed(OracleName.POSTCONDITION, "FuseOps", "not-done", "no reshape is left")
    assert family(told, plain) == family(told, with_if)


LAYOUT = "relax.squeeze (its FRelaxInferLayout)"


def test_a_failure_without_words_is_placed_at_the_function_of_an_operator() -> None:
    traits = Traits("FuseOps", Skeleton((), ("if",)))
    died, raised, told = (
        failed(OracleName.CRASH, "FuseOps", "signal 11", "signal 11 during crash"),
        failed(OracleName.CRASH, "FuseOps", "IndexError", "Index 2 out of bounds 1", "ir/transform.py:__call__"),
        failed(OracleName.CRASH, "FuseOps", "IndexError", "Index 2 out of bounds 1", "src/x.cc:relax::F"),
    )
    for blame in (LAYOUT, "type inference of quantize", "lowering of relax.abs"):
        assert placed(traits, died, blame).culprit == placed(traits, raised, blame).culprit == blame
        assert placed(traits, told, blame) == traits, "its words tell the cause"
    for part in ("block builder", "LLVM code generator"):
        assert placed(traits, died, part) == traits


def test_a_pass_or_a_function_that_is_to_blame_is_the_place() -> None:
    ill_formed = failed(OracleName.WELL_FORMED, "FuseTIR", *DEPENDENT)
    unbuilt = failed(OracleName.NUMERIC, "FuseTIR", "does-not-build", "Argument 0 type mismatch")
    elementary = Traits("Normalize")
    for name in ("FuseOps", "relax.dpl.rewrite_call"):
        assert placed(elementary, ill_formed, name).culprit == name
    assert placed(elementary, ill_formed, "FuseTIR").culprit == "FuseTIR", "Normalize does the same for another reason"
    assert placed(elementary, unbuilt, "LowerAllocTensor") == elementary, "it refuses what several passes make"


def test_one_function_of_an_operator_is_one_family_whichever_pass_calls_it_and_however_the_process_dies() -> None:
    one, other, ended = (
        family(failed(OracleName.CRASH, name, kind, f"{kind} during crash"), Traits(LAYOUT, Skeleton((), constructs)))
        for name, kind, constructs in (
            ("ConvertLayout", "signal 11", ()),
            ("FuseOps", "memory", ("if",)),
            ("FuseOps", "IndexError", ()),
        )
    )
    assert one == other != ended
    assert one.place == LAYOUT
    assert one.final


def test_what_a_failure_goes_away_with_makes_its_family() -> None:
    frame = "src/relax/op/op_common.cc:relax::InferBinaryBroadcastShape"
    refused = failed(OracleName.CRASH, "P", "ValueError", "Operands differ", frame)
    other = failed(OracleName.CRASH, "P", "ValueError", "Sizes differ", "src/relax/op/qdq.cc:relax::InferTypeQuantize")
    check = failed(OracleName.CRASH, "P", "InternalError", "Check failed: (a) is false:", "src/x.cc:relax::F")
    names, numbers = (Traits("P", gone=frozenset({edit})) for edit in (Edit.NAMES, Edit.NUMBERS))
    assert family(refused, names) == family(check, names) != family(refused)
    assert family(refused, numbers) == family(other, numbers) != family(refused)
    assert family(check, numbers) == family(check, Traits("P")), "numbers count where an operator's rules raised it"


def test_whether_minimization_may_still_change_it() -> None:
    died = failed(OracleName.CRASH, "FuseOps", "signal 11", "signal 11 during crash")
    assert not family(died).final
    assert family(died, Traits("FuseOps")).final
    assert family(failed(OracleName.MUTATION, "FuseOps", "mutated", "the input module was modified")).final


def test_a_build_is_named_by_the_operator_that_it_leaves() -> None:
    message = "InternalError: R.{}: CodeGenVM cannot emit this Relax operator directly."
    left = [
        family(failed(OracleName.NUMERIC, culprit, "does-not-build", message.format(operator)), Traits(culprit))
        for culprit, operator in (("build:cpu", "ewise_fma"), ("build:zero", "ewise_fma"), ("build:cpu", "wrap_param"))
    ]
    assert left[0] == left[1] != left[2]
    assert left[0].text == "build: CodeGenVM cannot emit ewise_fma"
    passes = [
        family(failed(OracleName.NUMERIC, "FuseOpsByPattern", "does-not-build", message.format(each)))
        for each in ("add", "matmul")
    ]
    assert passes[0] == passes[1], "what a pass lost is the same whichever operator needs it"


def test_ids() -> None:
    found = Family("FuseOps", "boom")
    assert found.id == "F" + Family("FuseOps", "boom", final=False).id[1:]
    assert len(found.id) == 10
    assert found.id != Family("FuseOps", "boom", ("if",)).id


def test_traits_survive_the_store() -> None:
    traits = Traits("FuseOps", Skeleton(("abs", "add"), ("if",)), frozenset({Edit.NAMES}))
    assert msgspec.json.decode(msgspec.json.encode(traits), type=Traits) == traits
    assert Traits() == UNKNOWN


def test_what_did_not_fail_has_no_family() -> None:
    with pytest.raises(ValueError, match="a verdict that is pass has no symptom"):
        family(Verdict(OracleName.CRASH, Outcome.PASS, "FuseOps"))
