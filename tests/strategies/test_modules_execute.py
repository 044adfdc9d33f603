"""What is drawn as executable is built by the minimal pipeline, in children of this process."""

from __future__ import annotations

import multiprocessing

import pytest
import tvm
from drawing import drawn
from tvm import relax

from strategies import ir_modules


def minimal_pipeline():
    x = relax.transform
    return tvm.transform.Sequential(
        [
            x.RealizeVDevice(), relax.backend.DispatchSampling(), relax.backend.DispatchSortScan(), x.LambdaLift(),
            x.LegalizeOps(), x.ToNonDataflow(), x.RemovePurityChecking(), x.CallTIRRewrite(), x.LowerAllocTensor(),
            x.LowerRuntimeBuiltin(), x.ComputePrimValue(), x.VMShapeLower(), x.AttachGlobalSymbol(),
        ]
    )  # fmt: skip


def build_all(texts, answers):
    failures = []
    for text in texts:
        module = tvm.ir.load_json(text)
        try:
            with tvm.target.Target("llvm"):
                lowered = minimal_pipeline()(module)
            relax.build(lowered, "llvm", relax_pipeline=None)
        except Exception as error:
            failures.append(f"{error}\n{module.script()}")
    answers.put(failures)


def failures_of(count, seed):
    texts = [tvm.ir.save_json(module) for module in drawn(ir_modules(executable=True), count, seed)]
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=build_all, args=(texts, answers))
    child.start()
    failures = answers.get(timeout=500)
    child.join()
    return failures


def test_executable_modules_build():
    assert failures_of(25, seed=31) == []


@pytest.mark.slow
def test_many_executable_modules_build():
    assert failures_of(300, seed=32) == []
