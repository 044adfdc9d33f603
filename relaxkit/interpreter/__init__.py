"""Reference interpreter: what a Relax module means, in NumPy, written from TVM's documentation and not from its code.

It reads the Relax IR itself, before and after a high-level pass, and needs no compiler: a module of ten bindings costs
about a millisecond.  It shares nothing with the strategies that draw modules, nor with what TVM makes of them.
"""

from relaxkit.interpreter.machine import Interpreter
from relaxkit.interpreter.registry import Precision, Raised, Request, TooDeep, Undefined, Unsupported

__all__ = ["Interpreter", "Precision", "Raised", "Request", "TooDeep", "Undefined", "Unsupported"]
