"""``relax.build`` as a pass, so that the crash oracle can judge it: a well-formed module must build, and run."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from oracles.measure.inputs import materialize
from relaxkit.passes.contract import Contract, Idempotence, NumericPromise
from relaxkit.runtime import session

# Enough seeds that a condition drawn as an input is once true and once false.
_SEEDS = range(6)


def code_gen_vm() -> tvm.ir.transform.Pass:
    """Make a module pass that builds its input with the stock pipeline for the CPU and returns the input unchanged.

    An exception of the build is an exception of the pass.  The build's result is dropped: what it computes is
    the numeric oracle's question, not this one's.
    """

    @tvm.transform.module_pass(opt_level=0, name="CodeGenVM")
    def build(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
        relax.build(module, target="llvm")
        return module

    return build


def default_build_and_run() -> tvm.ir.transform.Pass:
    """Make a pass that lowers its input by ``default_build`` and runs ``main`` on inputs of the default domain.

    The executable runs in this process, through the kernel cache, so that no C++ compiler is needed.  It may kill the
    process: a case with it is ``isolated``.
    """

    @tvm.transform.module_pass(opt_level=0, name="default_build")
    def run(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
        program = session().build(relax.get_pipeline("default_build")(module), lowered=True)
        for seed in _SEEDS:
            program.call("main", materialize(module, "main", seed))
        return module

    return run


for _factory in (code_gen_vm, default_build_and_run):
    # An attribute of the factory is how a user's pass brings its contract.
    _contract = Contract(_factory.__name__, idempotence=Idempotence.IDEMPOTENT, numeric=NumericPromise.BIT_EXACT)
    setattr(_factory, "contract", _contract)  # noqa: B010  # functions have none to mypy
