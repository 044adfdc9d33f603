"""Every kind of mutation of what passes give: none that acts otherwise is proved."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import proof_soundness
from proof_mutations import MUTATIONS, Draft
from proof_soundness import STAGES, Reference, _made, lowered_by

from relaxkit.proof import Result, prove

BENCHMARKS = Path(proof_soundness.__file__).parent

MOST = 2
"""Mutants of a kind that are tried at a stage."""


@I.ir_module
class Model:
    @R.function(private=True)
    def near(a: R.Tensor((2, 3), "float32"), b: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            gv = R.subtract(a, b)
            R.output(gv)
        return gv

    @R.function(private=True)
    def far(a: R.Tensor((2, 3), "float32"), b: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            gv = R.power(a, b)
            R.output(gv)
        return gv

    @R.function(pure=False)
    def main(
        x: R.Tensor((2, 3), "float32"),
        y: R.Tensor((2, 3), "float32"),
        p: R.Tensor(("n", "m"), "float32"),
        q: R.Tensor(ndim=2, dtype="float32"),
        flag: R.Tensor((), "bool"),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32"), R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        cls = Model
        cast = R.match_cast(q, R.Tensor((n, m), "float32"))
        near = cls.near(x, y)
        parts = R.split(near, 3, axis=1)
        first = parts[0]
        second = parts[1]
        pair = (x, near)
        other = pair[1]
        sums = R.add(x, R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))
        corner = R.triu(R.nn.leakyrelu(sums, alpha=0.5), 1)
        padded = R.nn.pad(R.permute_dims(other, axes=[1, 0]), [1, 0, 0, 2], "reflect")
        wide = R.astype(R.astype(padded, "int32"), "float32")
        total = R.sum(wide, axis=[0], keepdims=True)
        R.print(first, format="{}")
        R.print(second, format="{}")
        R.assert_op(R.const(True))
        if flag:  # noqa: SIM108  # TVMScript
            chosen = R.minimum(corner, near)
        else:
            chosen = R.subtract(corner, near)
        grown = R.add(R.zeros(R.shape([n, m]), "float32"), R.multiply(p, cast))
        doubled = R.concat((grown, R.full(R.shape([n * 2, m]), R.const(3.0, "float32"))), axis=0)
        scaled = R.add(grown, R.multiply(R.expand_dims(R.sum(doubled, axis=0), 0), R.sum(total)))
        return (chosen, near, scaled)


@cache
def outputs() -> dict[str, tuple[Any, Any]]:
    """What the stages give of the model, where that is proved: the original and the output."""
    found = {}
    for stage, (first, second) in STAGES.items():
        before = lowered_by(Model, first)
        after = lowered_by(before, second)
        if prove(before, after).result is Result.PROVED:
            found[stage] = before, after
    return found


@cache
def reference() -> Reference:
    return Reference(Model)


def mutants(kind: str) -> Iterator[tuple[Any, Any, bool]]:
    """The mutants of a kind: the original, the mutant, and whether it is lowered down to the machine."""
    for stage, (before, after) in outputs().items():
        machine = stage.startswith("machine")
        some = list(MUTATIONS[kind](Draft(after)))
        random.Random(kind).shuffle(some)
        for made in islice(_made(some, judged=not machine), MOST):
            yield before, made, machine


def test_the_model_is_proved_at_every_stage() -> None:
    assert outputs().keys() >= {"graph", "kernels", "memory", "machine", "machine, memory not planned"}
    assert all(reference().behaviour(after, "machine" in stage) == "alike" for stage, (_, after) in outputs().items())


@pytest.mark.parametrize("kind", MUTATIONS)
def test_a_mutant_is_proved_only_where_it_acts_alike(kind: str) -> None:
    found = list(mutants(kind))
    assert found, "the model has nothing of this kind"
    for before, made, machine in found:
        if prove(before, made).result is Result.PROVED:
            assert reference().behaviour(made, machine) in ("alike", "does not build")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["--mutations=0:4", "--planted=0:2", "--execute=0:1"])
def test_the_benchmark_at_small_size(what: str, tmp_path: Path) -> None:
    totals = tmp_path / "totals.json"
    command = [sys.executable, str(BENCHMARKS / "proof_soundness.py"), what, f"--into={totals}"]
    for _ in range(2):  # the second time, the range is known
        done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(totals.read_text()).values()
    assert len(found["ranges"]) == 1
    assert sum(sum(each.values()) for each in found["counts"].values()) > 10
