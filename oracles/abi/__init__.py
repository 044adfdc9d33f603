"""Adapters: how to call a module whose calling convention a pass has changed, so that results compare.

One class per convention; :func:`adapters_of` gives those of a pipeline, and :func:`call` goes through them in order.
"""

from oracles.abi.compose import Convention, NoAdapter, adapters_of, call, prepare
from oracles.abi.frame import Adapter, Frame

__all__ = ["Adapter", "Convention", "Frame", "NoAdapter", "adapters_of", "call", "prepare"]
