"""Modules that the fork server imports once, so that each isolated process starts in milliseconds."""

import gc

import hypothesis
import numpy.random
import tvm
import tvm.relax

import fuzzer.core.case
import fuzzer.minimizer.entering
import fuzzer.minimizer.propose
import fuzzer.repro.nearest.edits
import fuzzer.repro.render
import fuzzer.repro.short.render
import fuzzer.shard.shard
import fuzzer.shard.shares
import fuzzer.triage.blame.rules
import fuzzer.triage.questions
import oracles
import oracles.judge
import oracles.numeric.oracle
import strategies
import strategies.scope.from_bytes
import strategies.seeded
from relaxkit.compat.shims import iterate_quickly, parse_quickly
from relaxkit.interpreter.registry import implementation

__all__ = ["fuzzer", "hypothesis", "numpy", "oracles", "strategies", "tvm"]

iterate_quickly()
parse_quickly()
implementation("relax.add")  # and all others with it
gc.freeze()  # what is imported stays, and need not be looked at again
