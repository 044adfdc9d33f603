"""DispatchSampling with a memory: the kernel that it parses from TVMScript, 30 ms a call, depends on dtypes alone.

The pass is TVM's own, and looks the maker of the kernel up when it runs; only while it runs here, the maker remembers.
``tests/oracles/test_dispatch.py`` holds it against the plain pass.
"""

from __future__ import annotations

import functools
from typing import Any

import tvm
from tvm import relax
from tvm.relax.backend import gpu_generic

MAKER = "generic_get_sample_index"


@functools.cache
def sampling() -> Any:
    """The pass."""
    plain = relax.backend.DispatchSampling()
    made: dict[tuple[str, ...], Any] = {}

    @tvm.transform.module_pass(opt_level=0, name="DispatchSampling")
    def dispatch(module: Any, _context: Any) -> Any:
        original = getattr(gpu_generic, MAKER)

        def remembered(*dtypes: Any) -> Any:
            key = tuple([str(each) for each in dtypes])
            if key not in made:
                made[key] = original(*dtypes)
            return made[key]

        setattr(gpu_generic, MAKER, remembered)
        try:
            return plain(module)
        finally:
            setattr(gpu_generic, MAKER, original)

    return dispatch
