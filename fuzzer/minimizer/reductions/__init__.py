"""The reductions, in the order in which they are tried: what removes most comes first."""

from __future__ import annotations

from importlib import import_module

from fuzzer.minimizer.reductions.reduction import Reduction

_ORDER = """
    structure.unused structure.functions structure.cut structure.outputs structure.bindings structure.branches
    structure.projections structure.inline structure.operands structure.tuple_params structure.unused
    types.attributes types.vdevices structure.local_functions types.kernels types.dims types.kernel_dims
    types.ranks types.dtypes types.op_attributes types.operators types.conditions types.constants types.values
    structure.same_params structure.blocks structure.purity types.single_dims structure.function_names structure.names
"""
REDUCTIONS: tuple[Reduction, ...] = tuple(import_module(f"{__name__}.{name}").edits for name in _ORDER.split())
