"""The examples in ``docs/writing-a-pass-contract.md`` do what the document says."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sample_modules as samples
import tvm
from tvm import relax

from oracles import PassRef, Subject, contract_for, judge
from oracles.core.verdict import Outcome
from relaxkit.passes import contract as words
from relaxkit.passes import contracts
from relaxkit.passes.contract import OracleName
from strategies.detect.module_facts import Facts, facts_of
from strategies.pass_arguments.row import call
from strategies.scope.choices import Choices
from strategies.scope.from_bytes import draws_of

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "writing-a-pass-contract.md"
OWN, ROW, ARGUMENTS = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
JUDGED = frozenset({OracleName.CRASH, OracleName.IDEMPOTENCE, OracleName.POSTCONDITION})


def outcomes(module: Any, ref: PassRef) -> dict[OracleName, Outcome]:
    return {verdict.oracle: verdict.outcome for verdict in judge(Subject(module, [ref]), JUDGED)}


def own(tmp_path: Path, text: str = OWN) -> PassRef:
    file = tmp_path / "removes.py"
    file.write_text(text)
    return PassRef("RemoveUnused", f"user:{file}:remove_unused")


def test_a_pass_of_ones_own_is_held_to_its_contract(tmp_path: Path) -> None:
    ref = own(tmp_path)
    assert contract_for(ref).postconditions[0].claim == "no binding is unused"
    for module in (samples.dataflow(), samples.weights()):
        assert set(outcomes(module, ref).values()) == {Outcome.PASS}


def test_the_claim_is_what_catches_a_pass_that_does_nothing(tmp_path: Path) -> None:
    ref = own(tmp_path, OWN.replace("return relax.analysis.remove_all_unused(func)\n", "return func\n", 1))
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit(relax.op.exp(x))
        builder.emit_func_output(x)
    assert outcomes(builder.finalize(), ref) == {
        OracleName.CRASH: Outcome.PASS,
        OracleName.IDEMPOTENCE: Outcome.PASS,
        OracleName.POSTCONDITION: Outcome.FAIL,
    }


@pytest.fixture
def tidy(monkeypatch: pytest.MonkeyPatch) -> words.Contract:
    """A release that brings the pass of the document, and its row in the table."""

    def build(func_name: str | None = None, level: int = 1) -> Any:
        if level < 1:
            raise ValueError("level must be positive")
        return tvm.transform.Sequential([relax.transform.CanonicalizeBindings(), relax.transform.DeadCodeElimination()])

    row = eval(ROW, vars(words).copy())
    monkeypatch.setattr(relax.transform, "Tidy", build, raising=False)
    monkeypatch.setitem(contracts.CONTRACTS, row.name, row)
    assert isinstance(row, words.Contract)
    return row


def test_one_row_and_one_function_are_enough(tidy: words.Contract) -> None:
    scope: dict[str, Any] = {"Choices": Choices, "Facts": Facts, "call": call}
    exec(ARGUMENTS, scope)
    module = samples.dataflow()
    choices = Choices(draws_of(random.Random(1)))
    texts = {scope["tidy"](choices, facts_of(module)) for _ in range(40)}
    assert texts == {f"relax.transform.Tidy({where}level={level})" for level in (1, 2, 3) for where in ("", '"main", ')}
    for text in texts:
        ref = PassRef("Tidy", text)
        assert contract_for(ref) is tidy
        assert set(outcomes(module, ref).values()) <= {Outcome.PASS, Outcome.SKIP}
        assert outcomes(module, ref)[OracleName.IDEMPOTENCE] is Outcome.PASS


def test_a_wrong_claim_is_one_edited_row(tidy: words.Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = tidy.refusals[0]
    assert refused.matches("ValueError", "level must be positive")
    edited = replace(tidy, postconditions=(words.Postcondition("nothing is left", lambda ran: "something is", "none"),))
    monkeypatch.setitem(contracts.CONTRACTS, "Tidy", edited)
    ref = PassRef("Tidy", "relax.transform.Tidy(level=1)")
    assert outcomes(samples.dataflow(), ref)[OracleName.POSTCONDITION] is Outcome.FAIL
