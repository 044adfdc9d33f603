"""Mutations of modules that change what they mean, or may; one file for each part of a module that they change.

Each yields its mutants as functions, so that one can be chosen before it is made.  A mutant need not be well formed,
and need not act otherwise than the module: what it does is for an execution to say.
"""

from proof_mutations import checks, dims, effects, flow, kernels, memory, operands, shape_heap, values
from proof_mutations.draft import MUTATIONS, Draft

__all__ = [
    "MUTATIONS", "Draft", "checks", "dims", "effects", "flow", "kernels", "memory", "operands", "shape_heap", "values",
]  # fmt: skip
