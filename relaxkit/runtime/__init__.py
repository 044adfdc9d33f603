"""Execution of Relax modules through CodeGenVM, with each kernel compiled once."""

from relaxkit.runtime.compile.diskcache import DiskCache, default_directory
from relaxkit.runtime.compile.fast_lowering import movable_constants, private_constants
from relaxkit.runtime.compile.kernels import KernelCache
from relaxkit.runtime.compile.lowering import lower
from relaxkit.runtime.run import Program, Session, cxx_available, judge_of_record, plain_build, session
from relaxkit.runtime.values import ExecMode, Opaque, ShapeValue, Value, from_tvm, to_tvm

__all__ = [
    "DiskCache", "ExecMode", "KernelCache", "Opaque", "Program", "Session", "ShapeValue", "Value", "cxx_available",
    "default_directory", "from_tvm", "judge_of_record", "lower", "movable_constants", "plain_build",
    "private_constants", "session", "to_tvm",
]  # fmt: skip
