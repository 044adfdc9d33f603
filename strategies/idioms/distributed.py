"""Idioms of tensors that are spread over a mesh of devices."""

from __future__ import annotations

from functools import partial

from tvm import relax

from strategies.constructs import distributed
from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import floats, relu
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

TABLE = IdiomTable()


@TABLE.idiom("PropagateSharding", needs=(Feature.DISTRIBUTED,))
def annotated_function(scope: Scope) -> Value:
    """Plant a public function beside this one, in which it is said how some values are spread."""
    distributed.add(scope, annotated=True)
    return scope.tensor()


@TABLE.idiom("LegalizeRedistribute", "LowerGlobalViewToLocalView", "LowerDistIR", needs=(Feature.DISTRIBUTED,))
def spread_function(scope: Scope) -> Value:
    """Plant a public function beside this one, whose types say how all values are spread."""
    distributed.add(scope, annotated=False)
    return scope.tensor()


@TABLE.idiom("IPCAllReduceRewrite", needs=(Feature.NON_EXECUTABLE,))
def all_reduced(scope: Scope, kind: str = "sum") -> Value:
    """Plant the sum of what a kernel gives on each device."""
    value = relu(scope, floats(scope))
    return scope.emit(relax.op.ccl.allreduce(value.expr, kind, in_group=scope.flip()))


TABLE.near_miss("greatest")(partial(all_reduced, kind="max"))
