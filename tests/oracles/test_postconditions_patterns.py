# ruff: noqa: RET504, SIM108 -- the samples are TVMScript, not Python
# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""What rewriters by patterns claim: TVM's own keep it where nothing is known against them, and wrong ones do not."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from oracles import check
from relaxkit.passes.claims.rewrite import changed_without_match, match_missed
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef
from strategies.detect.module_facts import facts_of
from strategies.pass_arguments.table import PASS_ROWS
from strategies.scope.choices import Choices


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
        with R.dataflow():
            difference = R.subtract(x, y)
            z = R.nn.relu(difference)
            R.output(z)
        if c:
            w = R.nn.relu(y)
        else:
            w = R.exp(z)
        return w

    @R.function
    def other(x: R.Tensor((2, 3), "float32")):
        y = R.exp(x)
        return y


@I.ir_module
class Cleaned:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
        return x


RELU = "is_op('relax.nn.relu')(wildcard())"


def pattern(text: str) -> Any:
    return PassRef("rewrite_call", text).build()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (RELU, False),
        ("is_op('relax.add')(wildcard(), wildcard())", True),
        ("is_op('relax.nn.relu')(is_op('relax.exp')(wildcard()))", True),
        ("is_op('relax.nn.relu')(is_op('relax.subtract')(wildcard(), wildcard()))", False),
        ("is_op('relax.nn.relu')(is_const())", True),
        ("(is_op('relax.add')(wildcard(), wildcard()) | is_op('relax.exp')(wildcard()))", False),
        ("(is_op('relax.exp')(wildcard()) & is_op('relax.tanh')(wildcard()))", True),
        ("is_op('relax.sqrt')(wildcard()).has_dtype('float32')", True),
        ("is_tuple_get_item(wildcard())", True),
        ("wildcard()", False),
    ],
)
def test_a_change_without_a_match_is_told(text: str, told: bool) -> None:
    run = Ran(Branches, Cleaned, {"0": pattern(text)})
    assert bool(changed_without_match(run)) is told


@I.ir_module
class Returned:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.nn.relu(x)
        return y


def test_a_variable_that_is_returned_is_no_match_by_itself() -> None:
    assert match_missed(Ran(Returned, Returned, {"0": pattern(RELU)})) == ""


def test_every_match_reaches_the_rewriter(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Ran(Branches, Branches, {"0": pattern(RELU)})
    assert match_missed(run) == ""
    real = relax.dpl.rewrite_call

    def first_only(given: Any, rewriter: Any, function: Any) -> Any:
        met: list[Any] = []
        return real(given, lambda call, found: call if met or met.append(call) else rewriter(call, found), function)

    monkeypatch.setattr(relax.dpl, "rewrite_call", first_only)
    assert match_missed(run).startswith("a match is not given to the rewriter\n")


@pytest.mark.parametrize(
    "name", ["rewrite_call", "PatternMatchingRewriter", "rewrite_bindings", "DataflowBlockRewrite"]
)
def test_what_is_drawn_builds_and_acts(name: str) -> None:
    facts, changed = facts_of(Branches), 0
    for seed in range(24):
        texts = iter(range(seed, 10_000, 7 + seed))
        choices = Choices(lambda _, texts=texts: (next(texts) * 2654435761 % (1 << 64)).to_bytes(8, "little"))
        ref = PassRef(name, PASS_ROWS[name].draw(choices, facts))
        try:
            result = ref.build()(Branches)
        except (tvm.error.InternalError, IndexError):  # TVM's own defects (docs/bugs.md)
            continue
        else:
            changed += not result["main"].same_as(Branches["main"])
    assert changed > 4


def test_what_rules_make_is_what_was_computed() -> None:
    becomes = "relax.op.maximum(found[pattern.args[0]], relax.const(0, str(call.ty.dtype)))"
    made = f"relax.dpl.rewrite_call(pattern, lambda call, found: {becomes}, f)"
    rewritten = f'relax.transform.function_pass(lambda f, mod, _: {made}, opt_level=0, name="rewrite_call")'
    check(Branches, PassRef("rewrite_call", f"(lambda pattern: {rewritten})({RELU})"))
    wrong = PassRef("rewrite_call", f"(lambda pattern: {rewritten})({RELU})".replace("maximum", "minimum"))
    with pytest.raises(AssertionError, match=r"numeric|numbers|result"):
        check(Branches, wrong)
    assert CONTRACTS["rewrite_call"].inside == ("CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination")
