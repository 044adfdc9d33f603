"""Execution of Relax modules through CodeGenVM, with each kernel compiled once."""

from oracles.execution.diskcache import DiskCache, default_directory
from oracles.execution.kernels import KernelCache
from oracles.execution.lowering import erase_markers, lower, reference_pipeline
from oracles.execution.mode import ExecMode
from oracles.execution.quick import movable_constants, private_constants
from oracles.execution.run import (
    Program,
    Session,
    cxx_available,
    judge_of_record,
    plain_build,
    plain_build_and_run,
    session,
)
from oracles.execution.values import Opaque, ShapeValue, Value, from_tvm, to_tvm

__all__ = [
    "DiskCache",
    "ExecMode",
    "KernelCache",
    "Opaque",
    "Program",
    "Session",
    "ShapeValue",
    "Value",
    "cxx_available",
    "default_directory",
    "erase_markers",
    "from_tvm",
    "judge_of_record",
    "lower",
    "movable_constants",
    "plain_build",
    "plain_build_and_run",
    "private_constants",
    "reference_pipeline",
    "session",
    "to_tvm",
]
