"""Lowering with little work: what a module does not need is left out, and calls are legalized once.

``tests/oracles/test_census.py`` and ``tests/oracles/test_legalization.py`` hold it against the whole pipeline.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Any

import tvm
from tvm import relax
from tvm.relax.backend import gpu_generic

from relaxkit.ir.summary import forget, remember, summary_of
from relaxkit.runtime.compile.constants import tensors_of, with_own_constants
from relaxkit.runtime.compile.legalization import Legalizer
from relaxkit.runtime.compile.lowering import (
    INVOKES,
    STOP_LIFT,
    erase_markers,
    from_pure,
    keep_closure_types,
    target,
    until_pure,
)
from relaxkit.runtime.compile.split_operators import with_split_operators

# DispatchSampling with a memory: the kernel that it parses from TVMScript, 30 ms a call, depends on dtypes alone.
#
# The pass is TVM's own, and looks the maker of the kernel up when it runs; only while it runs here, the maker
# remembers. ``tests/relaxkit/runtime/test_dispatch.py`` holds it against the plain pass.

MAKER = "generic_get_sample_index"


@functools.cache
def sampling() -> Any:
    """Return the pass."""
    plain = relax.backend.DispatchSampling()
    made: dict[tuple[str, ...], Any] = {}

    @tvm.transform.module_pass(opt_level=0, name="DispatchSampling")
    def dispatch(module: tvm.IRModule, _context: Any) -> Any:
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


SAMPLED = frozenset({"relax.multinomial_from_uniform"})
SORTED = frozenset(f"relax.{name}" for name in ("bucketize", "sort", "argsort", "topk", "cumprod", "cumsum"))
"""The operators that the dispatching passes look for."""
PLACED = frozenset({"relax.hint_on_device", "relax.to_vdevice"})
"""The operators that RealizeVDevice looks for; virtual devices are told by a module's global information, too."""


def lower_quickly(module: tvm.IRModule, legalizer: Legalizer) -> Any:
    """Lower a module to what :func:`relaxkit.runtime.compile.lowering.lower` gives; raises whatever TVM raises."""
    found = summary_of(module)
    forget()
    closures = found.nested or not found.operators.isdisjoint(INVOKES)
    samples = not found.operators.isdisjoint(SAMPLED)
    sorts = samples or not found.operators.isdisjoint(SORTED)  # sampling is made of a scan
    devices = bool(module.global_infos) or not found.operators.isdisjoint(PLACED)
    first, second = _stages(legalizer, samples, sorts, found.nested, closures, devices, found.computes)
    if STOP_LIFT in found.operators:
        module = erase_markers(module)
    with target():
        lowered = first(module)
        return lowered if second is None else second(keep_closure_types(lowered))


@functools.lru_cache(maxsize=64)
def _stages(
    legalizer: Legalizer, samples: bool, sorts: bool, nested: bool, closures: bool, devices: bool, computes: bool
) -> tuple[Any, Any]:
    """Return the pipeline in two halves, between which closures are seen to; in one when there are none."""
    dispatch = [sampling()] if samples else []
    dispatch += [relax.backend.DispatchSortScan()] if sorts else []
    # What they do besides: their result is finalized.
    first = until_pure(dispatch or [relax.transform.NormalizeGlobalVar()], legalizer.transform)
    idle = {name for name, needed in (("LambdaLift", nested), ("RealizeVDevice", devices)) if not needed}
    first = [each for each in first if each.info.name not in idle]
    if closures:
        return tvm.transform.Sequential(first), tvm.transform.Sequential(from_pure(computes))
    return tvm.transform.Sequential([*first, *from_pure(computes)]), None


def private_constants(module: tvm.IRModule) -> Any:
    """Return the module with constants of its own, so that a program that overwrites one does not change the module.

    A program's constants are the module's tensors themselves. A module without constants is returned as it is, and
    so is one whose programs cannot overwrite any.
    """
    found = summary_of(module)
    if not found.constants or found.overwrites_nothing:
        return module
    owned = with_own_constants(module, found.holders)  # costs less than to ask the kernels what they write into
    remember(owned, found)
    return owned


def movable_constants(module: tvm.IRModule) -> tuple[Any, list[Any]]:
    """The module to measure tolerances on: one with constants of its own, operators that cancel inside taken apart.

    Returns:
        It, the module itself where nothing has to be done; and the tensors of several floats among its constants, which
        its programs use.
    """
    with contextlib.suppress(Exception):  # types that TVM cannot infer again: what cancels is left whole
        module = with_split_operators(module)
    found = summary_of(module)
    if not found.constants:
        return module, []
    owned = with_own_constants(module, found.holders)
    tensors = tensors_of(owned)
    return owned, [each for each in tensors if "float" in str(each.dtype) and math.prod(map(int, each.shape)) > 1]
