from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
import sample_arguments as arguments
import sample_modules as samples
import tvm
from structural import STRUCTURAL
from verdict_rows import ref

from oracles import judge
from oracles.core.module_facts import ModuleFacts
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import (
    Contract,
    Idempotence,
    Locality,
    OracleName,
    default_contract,
)
from relaxkit.passes.contracts import CONTRACTS, contract_for
from relaxkit.passes.contracts.shared import UNSUPPORTED_DTYPE
from relaxkit.passes.pass_ref import PassRef


@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_row_is_sound(name: str) -> None:
    row = CONTRACTS[name]
    assert row.name == name
    for expression in arguments.expressions(name):
        assert isinstance(PassRef(name, expression).build(), tvm.ir.transform.Pass)
    assert all(prepared in CONTRACTS for prepared in row.prepare)
    assert name not in row.prepare
    for refusal in row.refusals + row.second_run_refusals:
        re.compile(refusal.pattern)
        assert refusal.reason
        assert refusal.source
    assert (row.idempotence is Idempotence.REFUSES) == bool(row.second_run_refusals)
    assert row.fixpoint_runs == 1 or row.idempotence is Idempotence.FIXPOINT


def test_user_pass_brings_its_contract_or_gets_the_default(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import tvm\nfrom relaxkit.passes.contract import Contract\n"
        "def plain():\n    return tvm.transform.module_pass(lambda m, c: m, opt_level=0, name='plain')\n"
        "def own():\n    return plain()\n"
        "own.contract = Contract('own', notes='mine')\n"
    )
    assert contract_for(PassRef("plain", f"user:{file}:plain")) == default_contract("plain")
    assert contract_for(PassRef("own", f"user:{file}:own")).notes == "mine"
    assert contract_for(PassRef("FuseTIR", f"user:{file}:plain")) == default_contract("FuseTIR")
    assert contract_for(PassRef("no such pass", "...")) == default_contract("no such pass")
    assert isinstance(CONTRACTS["FuseTIR"], Contract)


# Every row on every sample module. These are TVM's defects that the samples set off; nothing else may fail.
KNOWN_DEFECTS: set[tuple[OracleName, str, str]] = {
    (OracleName.MUTATION, "UpdateVDevice", "mutated"),
    (OracleName.IDEMPOTENCE, "ConvertLayout", "InternalError"),
    (OracleName.WELL_FORMED, "DataflowUseInplaceCalls", "ill-formed"),
    (OracleName.CRASH, "FastMathTransform", "AttributeError"),
    (OracleName.CRASH, "FuseTransposeMatmul", "AttributeError"),
    (OracleName.WELL_FORMED, "InlinePrivateFunctions", "ill-formed"),
    (OracleName.WELL_FORMED, "LazyGetInput", "ill-formed"),
    (OracleName.CRASH, "LazyTransformParams", "AssertionError"),
    (OracleName.CRASH, "MergeCompositeFunctions", "InternalError"),
    (OracleName.CRASH, "MergeCompositeFunctions", "TypeError"),
    (OracleName.CRASH, "SpecializePrimFuncBasedOnCallSite", "TypeError"),
    (OracleName.WELL_FORMED, "StaticPlanBlockMemory", "ill-formed"),
    (OracleName.WELL_FORMED, "UpdateParamType", "ill-formed"),
    (OracleName.LOCALITY, "MergeCompositeFunctions", "InternalError"),
    (OracleName.LOCALITY, "InlinePrivateFunctions", "not-local"),
    (OracleName.LOCALITY, "RemoveUnusedParameters", "not-local"),
    (OracleName.ROUNDTRIP, "TVMScript", "not-parsed"),
    (OracleName.ROUNDTRIP, "TVMScript", "reads-otherwise"),
    (OracleName.POSTCONDITION, "KillAfterLastUse", "not-done"),
}
# Kills the process: endless recursion of RunCodegen on a recursive function.
FATAL = {("RunCodegen", "recursive")}
# The sample arguments bind x to a 2x3 constant, which these modules' operators cannot take.
UNSUITABLE = {("BindParams", name) for name in ("weights", "transposed_twice", "matmuls", "convolution")} | {
    ("Gradient", name) for name in ("transform_params_of_nested_call", "empty")
}


PART = 36


@pytest.mark.parametrize("part", [PART, pytest.param(1, marks=pytest.mark.slow)])
def test_only_known_defects_fail_on_the_samples(part: int) -> None:
    """In the default run of a few of the pairs of module and pass, and of passes with known defects until they show."""
    seen: set[tuple[OracleName, str, str]] = set()
    for module_name, build in samples.MODULES.items():
        module = build()
        facts = ModuleFacts(module)
        for name in CONTRACTS:
            if (name, module_name) in FATAL | UNSUITABLE:
                continue
            lacking = any(culprit == name for _, culprit, _ in KNOWN_DEFECTS - seen)
            if not lacking and zlib.crc32(f"{name} {module_name}".encode()) % part:
                continue
            for expression in arguments.expressions(name):
                for verdict in judge(Subject(module, [PassRef(name, expression)], facts=facts), STRUCTURAL):
                    assert verdict.outcome is not Outcome.INVALID, (module_name, expression, verdict)
                    if verdict.outcome is Outcome.FAIL:
                        assert verdict.evidence is not None
                        found = (verdict.oracle, verdict.culprit, verdict.evidence.kind)
                        assert found in KNOWN_DEFECTS, (module_name, expression, verdict)
                        seen.add(found)
    assert seen == KNOWN_DEFECTS


def test_arguments_change_what_is_promised() -> None:
    named = PassRef("ToMixedPrecision", 'relax.transform.ToMixedPrecision(fp16_input_names=["x"])')
    assert not contract_for(named).keeps_public_signatures
    assert contract_for(PassRef("ToMixedPrecision", "relax.transform.ToMixedPrecision()")).keeps_public_signatures
    sort = "relax.transform.TopologicalSort({})"
    for arguments_, promise in (
        ("", Idempotence.IDEMPOTENT),
        ('"breadth-first", "from-inputs"', Idempotence.IDEMPOTENT),
        ('order="breadth-first", direction="from-outputs"', Idempotence.NEVER),
    ):
        assert contract_for(PassRef("TopologicalSort", sort.format(arguments_))).idempotence is promise


@pytest.mark.parametrize("message", ["Axis swap only", "Unsupported initial layout"])
def test_layouts_that_convolutions_name_as_not_theirs_are_refusals(message):
    found = [each for each in CONTRACTS["ConvertLayout"].refusals if each.matches("InternalError", f"Check: {message}")]
    assert len(found) == 1
    assert not found[0].matches("InternalError", "Layouts must have the same size")


def test_a_check_on_uses_promises_a_fixed_point_only():
    pattern = '("a.b", is_op("relax.abs")(wildcard()), {}, lambda context: %s)'
    looks = contract_for(ref("FuseOpsByPattern", f"[{pattern % 'not context.var_usages'}]"))
    plain = contract_for(ref("FuseOpsByPattern", f"[{pattern % 'True'}]"))
    assert (looks.idempotence, plain.idempotence) == (Idempotence.FIXPOINT, Idempotence.IDEMPOTENT)


def test_a_workspace_fits_all_external_functions_of_the_module():
    assert CONTRACTS["AllocateWorkspace"].locality is Locality.MODULE


def test_a_kernel_that_functions_share_fits_all_its_calls():
    assert CONTRACTS["SpecializePrimFuncBasedOnCallSite"].locality is Locality.MODULE


@pytest.mark.parametrize(
    "message",
    [
        "Data type T.bool not supported for isnan op. Skipping isnan op...",
        "Data type T.bool not supported for absolute op.",
    ],
)
def test_a_kernel_that_says_which_dtype_it_lacks_is_a_refusal(message):
    assert UNSUPPORTED_DTYPE.matches("InternalError", message)
