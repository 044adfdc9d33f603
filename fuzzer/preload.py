"""What the fork server imports once, so that each isolated process starts in milliseconds."""

import hypothesis
import tvm
import tvm.relax

import fuzzer.cases
import fuzzer.shards
import oracles
import oracles.judge
import strategies
import strategies.drive
import strategies.seeded

__all__ = ["fuzzer", "hypothesis", "oracles", "strategies", "tvm"]
