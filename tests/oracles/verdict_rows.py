"""Rows of a table of expected verdicts: a module, passes, and what an oracle must say of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import tvm
from tvm import relax

from oracles import judge
from oracles.core.module_facts import ModuleFacts
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import CONTRACTS, contract_for
from relaxkit.passes.pass_ref import PassRef, Step

FAIL, PASS, REJECT, SKIP = Outcome.FAIL, Outcome.PASS, Outcome.REJECT, Outcome.SKIP
GRAPHS = '{"relax.backend.use_cuda_graph": True}'


def ref(name: str, arguments: str = "") -> PassRef:
    """A reference to a pass of TVM's with these arguments."""
    return PassRef(name, f"{CONTRACTS[name].where}.{name}({arguments})")


def captured() -> PassRef:
    """RewriteCUDAGraph with the option that makes it act."""
    return PassRef("RewriteCUDAGraph", f"configured(relax.transform.RewriteCUDAGraph(), {GRAPHS})")


def step(reference: PassRef) -> Step:
    """A step with the contract of its pass."""
    return Step(reference, contract_for(reference))


def tensor(shape: Any, dtype: str = "float32", device: Any = None) -> relax.TensorType:
    """A type of tensors."""
    return relax.TensorType(shape, dtype, device)


def made(
    *types: Any, build: Callable[..., Any], name: str = "main", dataflow: bool = True, **attributes: Any
) -> tvm.IRModule:
    """A module of one function, from the types (or shapes) of its parameters and what computes its result."""
    builder = relax.BlockBuilder()
    each = [tensor(ty) if isinstance(ty, tuple) else ty for ty in types]
    params = [relax.Var(f"x{index}", ty) for index, ty in enumerate(each)]
    with builder.function(name, params, attrs=attributes or None):
        if dataflow:
            with builder.dataflow():
                result = builder.emit_output(build(builder, *params))
        else:
            result = build(builder, *params)
        builder.emit_func_output(result)
    return builder.get()


def verdict(module: tvm.IRModule, oracle: OracleName, *passes: PassRef, seed: int = 0) -> Verdict:
    """The verdict of one oracle."""
    subject = Subject(module, passes, facts=ModuleFacts(module), input_seed=seed)
    (found,) = [each for each in judge(subject, [oracle]) if each.oracle is oracle]
    return found


@dataclass(frozen=True)
class Row:
    """What an oracle must say of a module under passes.

    Attributes:
        name: What the row is about.
        module: Builds the module.
        passes: The passes.
        outcome: The verdict's outcome.
        reason: Its reason.
        culprit: Its culprit; not compared where empty.
        oracle: The oracle.
        shows: Text that must be in what the first pass gives, so that the row is about what it says.
    """

    name: str
    module: Callable[[], tvm.IRModule]
    passes: tuple[PassRef, ...]
    outcome: Outcome = SKIP
    reason: str = ""
    culprit: str = ""
    oracle: OracleName = OracleName.NUMERIC
    shows: str = ""

    def check(self) -> None:
        """Judge, and compare."""
        module = self.module()
        if self.shows:
            assert self.shows in str(self.passes[0].build()(module))
        seed = 3 if self.oracle is OracleName.NUMERIC else 0
        found = verdict(module, self.oracle, *self.passes, seed=seed)
        reason = "" if found.outcome is Outcome.PASS else str(found.reason)  # how an agreement was reached is not asked
        assert (found.outcome, reason) == (self.outcome, self.reason), found
        assert self.culprit in ("", found.culprit)


def rows(*table: Row) -> Any:
    """A mark that runs a test for each row of a table."""
    return pytest.mark.parametrize("row", table, ids=lambda row: str(row.name))
