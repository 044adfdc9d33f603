"""Probes that ``relaxfuzz doctor`` runs in child processes; each raises, or dies, when something does not work."""

from __future__ import annotations

import os
import signal
from typing import Any


class WrongAnswer(Exception):
    """Something answered, and wrongly; the message is what the user is told."""


def process_id(_: None) -> int:
    """Return the child's."""
    return os.getpid()


def segfault(_: None) -> None:
    """Die as TVM does when it follows a null pointer."""
    os.kill(os.getpid(), signal.SIGSEGV)


def in_process(_: None) -> str:
    """Compile a kernel anew, load it by the JIT, run it."""
    from relaxkit.compat import jit
    from relaxkit.runtime import Session

    if not jit.available():
        raise WrongAnswer(jit.NO_JIT)
    _compare(Session(None).build(_module()))
    return "a kernel was compiled, loaded into the process and run"


def on_record(_: None) -> str:
    """Build and run by plain ``relax.build``."""
    from relaxkit.runtime import plain_build

    _compare(plain_build(_module()))
    return "a module was built and run"


def script(_: None) -> str:
    """Print a module with a constant as TVMScript, with its metadata, and parse it."""
    import tvm

    module = _module()
    text = module.script(show_meta=True)
    if "metadata" not in text:
        raise WrongAnswer("TVMScript was printed without metadata: constants would be lost")
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), module)
    return "a module with a constant was printed, and parsed back unchanged"


def cache_place(_: None) -> str:
    """Return where compiled kernels are kept."""
    from relaxkit.runtime import default_directory

    return str(default_directory())


def save_and_load() -> None:
    """Write a module as JSON and read it: the first thing that dies when TVM and its ffi do not fit."""
    import tvm

    module = _module()
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(module)), module)


def _module() -> Any:
    """Build ``main(x) = x * x + [0.5, 1.5, 2.5]``."""
    import numpy as np
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            square = builder.emit(relax.op.multiply(x, x))
            out = builder.emit_output(relax.op.add(square, relax.const(np.array([0.5, 1.5, 2.5], "float32"))))
        builder.emit_func_output(out)
    return builder.get()


def _compare(program: Any) -> None:
    import numpy as np

    got = program.call("main", [np.array([1, 2, 3], "float32")])
    if not np.array_equal(got, np.array([1.5, 5.5, 11.5], "float32")):
        raise WrongAnswer(f"a module computed {got} instead of [1.5 5.5 11.5]")
