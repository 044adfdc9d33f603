"""The reductions, in the order in which they are tried: what removes most comes first."""

from __future__ import annotations

from fuzzer.minimizer.reductions import attributes, bindings, branches, dims, functions, kernels, values

REDUCTIONS = (
    bindings.unused, functions.functions, functions.cut, functions.outputs, bindings.bindings, branches.branches,
    bindings.projections, functions.inline, bindings.operands, functions.tuple_params, bindings.unused,
    attributes.attributes, attributes.vdevices, functions.local_functions, kernels.kernels, dims.dims,
    kernels.kernel_dims, dims.ranks, values.dtypes, attributes.op_attributes, values.operators, branches.conditions,
    values.constants, values.values, functions.same_params, branches.blocks, functions.purity, dims.single_dims,
    branches.if_types, functions.function_names, functions.names,
)  # fmt: skip
