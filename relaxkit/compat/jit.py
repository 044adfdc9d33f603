"""Loading object files into this process, where a release of ``apache-tvm-ffi-orcjit`` fits the installed ffi.

0.1.2 and later need ffi 0.1.14.post1 and TVM 0.27; 0.1.1 works with TVM 0.25 and 0.26. pip chooses by what they
require. Where none fits (a build from source against an ffi of its own), programs are linked as ``relax.build`` does.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

PACKAGE = "tvm_ffi_orcjit"
_CONSTRUCTORS = b".init_array\0"  # the name of their section of an object file
_HIDDEN = b".hide_array\0"

NO_JIT = (
    "no in-process JIT for this TVM (apache-tvm-ffi-orcjit is missing or of another ABI): "
    "programs are linked by the system's compiler, which is slower"
)


def installed() -> bool:
    """Say whether there is a JIT to try; asked without importing anything."""
    return importlib.util.find_spec(PACKAGE) is not None


@functools.cache
def available() -> bool:
    """Say whether objects can be loaded: the package is there, and starts on the installed ffi."""
    try:
        _loader()
    except Exception:
        return False
    return True


def load_object(payload: bytes) -> Any:
    """Load an object file into this process; gives a ``tvm.runtime.Module``.

    Raises:
        ImportError: There is no JIT (:func:`available`).
    """
    return _loader()(payload)


def load_objects(payloads: list[bytes]) -> Any:
    """Load object files that refer to each other, as one ``tvm.runtime.Module``.

    The JIT takes one object of a library that has constructors ("duplicate definition of symbol
    '$.dylib_1.__inits.0'"), and every object of TVM's has one, which does nothing (``AddStartupFunction`` in
    src/target/llvm/codegen_cpu.cc, outside of system libraries). It is kept out of sight in all objects but the first.

    Raises:
        ImportError: There is no JIT (:func:`available`).
        Exception: A symbol is missing, or the JIT takes one object only.
    """
    first, *others = payloads
    return _loader()([first, *(other.replace(_CONSTRUCTORS, _HIDDEN) for other in others)])


@functools.cache
def _loader() -> Callable[[bytes | list[bytes]], Any]:
    load = importlib.import_module(PACKAGE).default_session().load_module
    # Releases that know the argument would else ask a compiler for its C++ runtime. TVM's kernels are plain C, and
    # there may be no compiler.
    if "cxx" in inspect.signature(load).parameters:
        return lambda payload: load(payload, cxx="false")
    return lambda payload: load(payload)
