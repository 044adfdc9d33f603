"""What the fork server imports once, so that each isolated process starts in milliseconds."""

import hypothesis
import tvm
import tvm.relax

import fuzzer.cases
import oracles
import oracles.judge
import strategies

__all__ = ["fuzzer", "hypothesis", "oracles", "strategies", "tvm"]
