"""Adapters: how to call a module whose calling convention a pass has changed, so that results compare.

One class per convention; :func:`adapters_of` gives those of a pipeline, and :func:`call` goes through them in order.
"""

from oracles.calling.compose import Convention, NoAdapter, adapters_of, call, prepare
from oracles.calling.frame import Adapter, CallFrame

__all__ = ["Adapter", "CallFrame", "Convention", "NoAdapter", "adapters_of", "call", "prepare"]
