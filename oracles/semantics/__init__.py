"""Does TVM compute what its documentation says?  The reference interpreter says what that is.

Comparing a module before and after a pass never shows a wrong legalization: both are lowered by it.  Here the original
itself is compared with its interpretation, and where they differ, the call that is to blame is found by running single
calls of the program, each in a module of its own, on the operands that the interpreter has for it.
"""

from oracles.semantics.replay import WrongCall
from oracles.semantics.search import wrong_call
from oracles.semantics.single import NotAlone, SingleCall, single_call

__all__ = ["NotAlone", "SingleCall", "WrongCall", "single_call", "wrong_call"]
