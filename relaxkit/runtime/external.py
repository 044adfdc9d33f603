"""An external code generator that really executes: what ``RunCodegen`` hands to it is run by the reference pipeline.

``RunCodegen`` asks the global function ``relax.ext.<name>`` for runtime modules and turns each call of a function with
``Codegen = <name>`` into ``call_dps_packed("<global symbol>", ...)``. The virtual machine looks a symbol up in the
linked modules and then among the global functions: so the generator returns no module and registers one global function
for each symbol. That keeps the transformed module free of objects that compare by identity, and takes any body (several
composites, constants, symbolic shapes, several outputs).

Symbols belong to the process: what a program calls is what the last run of ``RunCodegen`` registered under the name.
A subject runs its passes before its programs, so that this is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax

EXTERNAL_NAME = "pyext"
"""The value of ``Codegen``, and the first part of ``Composite``, of what this generator takes."""


def with_codegen(built: Any, build: Callable[[Any], Any]) -> Any:
    """Register the generator, and give back the pass that needs it.

    Args:
        build: Makes a ``Program`` of a module with one function ``main``.
    """

    def generate(functions: Sequence[Any], options: Any, constants: Any) -> list[Any]:
        for function in functions:
            if relax.analysis.all_global_vars(function):
                raise ValueError(f"{EXTERNAL_NAME} takes no calls of other functions of the module")
            symbol = str(function.attrs["global_symbol"])
            tvm.register_global_func(symbol, External(function, build), override=True)
            _handed_over[symbol] = function
        return []

    tvm.register_global_func(f"relax.ext.{EXTERNAL_NAME}", generate, override=True)
    return built


_handed_over: dict[str, Any] = {}


def handed_over(symbol: str) -> Any:
    """Return the Relax function that the generator was handed under a symbol; ``None`` where it made no such symbol."""
    return _handed_over.get(symbol)


class External:
    """One external function in destination-passing style: operands, then outputs; built at its first call."""

    def __init__(self, function: Any, build: Callable[[Any], Any]) -> None:
        self.function = function
        self.build = build
        self._program: Any = None

    def __call__(self, *arguments: Any) -> None:
        """Run the function on its operands and write into its outputs."""
        if self._program is None:
            plain = self.function.without_attr("Codegen").with_attr("global_symbol", "main")
            self._program = self.build(tvm.IRModule({"main": plain}))
        count = len(self.function.params)
        result = self._program.call_raw("main", arguments[:count])
        parts = list(result) if isinstance(self.function.ret_ty, relax.TupleType) else [result]
        for target, part in zip(arguments[count:], parts, strict=True):
            target.copyfrom(part)
