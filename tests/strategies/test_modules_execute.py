"""What is drawn as executable is built by the reference pipeline, in a process of its own."""

from __future__ import annotations

import pytest
import tvm
from drawing import drawn

from fuzzer.worker.worker import IsolatedWorker
from relaxkit.runtime import plain_build
from strategies import ir_modules


def build_all(texts):
    failures = []
    for text in texts:
        module = tvm.ir.load_json(text)
        try:
            plain_build(module)
        except Exception as error:
            failures.append(f"{error}\n{module.script()}")
    return failures


def failures_of(count, seed):
    texts = [tvm.ir.save_json(module) for module in drawn(ir_modules(executable=True), count, seed)]
    with IsolatedWorker(time_limit=500.0) as worker:
        return worker.call(build_all, texts)


def test_executable_modules_build():
    assert failures_of(6, seed=31) == []


@pytest.mark.slow
def test_many_executable_modules_build():
    assert failures_of(300, seed=32) == []
