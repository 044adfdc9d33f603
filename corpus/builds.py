"""``relax.build`` as a pass, so that the crash oracle can judge it: a well-formed module must build."""

from __future__ import annotations

from typing import Any

from oracles.contract import Contract, Idempotence, NumericPromise


def code_gen_vm() -> Any:
    """A module pass that builds its input with the stock pipeline for the CPU and returns the input unchanged.

    An exception of the build is an exception of the pass.  The build's result is dropped: what it computes is
    the numeric oracle's question, not this one's.
    """
    import tvm
    from tvm import relax

    @tvm.transform.module_pass(opt_level=0, name="CodeGenVM")
    def build(module: Any, _context: Any) -> Any:
        relax.build(module, target="llvm")
        return module

    return build


# An attribute of the factory is how a user's pass brings its contract.
setattr(code_gen_vm, "contract", Contract("CodeGenVM", idempotence=Idempotence.IDEMPOTENT, numeric=NumericPromise.BIT_EXACT))  # noqa: B010
