"""What is drawn as executable is built by the reference pipeline, in children of this process."""

from __future__ import annotations

import multiprocessing

import pytest
import tvm
from drawing import drawn

from relaxkit.runtime import plain_build
from strategies import ir_modules


def build_all(texts, answers):
    failures = []
    for text in texts:
        module = tvm.ir.load_json(text)
        try:
            plain_build(module)
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
    assert failures_of(6, seed=31) == []


@pytest.mark.slow
def test_many_executable_modules_build():
    assert failures_of(300, seed=32) == []
