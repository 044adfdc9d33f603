"""Which pass inside a composed one is to blame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm.ir.instrument import pass_instrument

from oracles.facts import apply, complaint


@pass_instrument
class _Trace:
    """Records the passes that are running, outermost first, and the first whose output is wrong."""

    def __init__(self, wrong: Callable[[Any], bool]) -> None:
        self.running: list[str] = []
        self.failed: list[str] = []
        self.spoilt: list[str] = []
        self._wrong = wrong

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.running.append(str(info.name))
        self.failed = list(self.running)

    def run_after_pass(self, module: Any, info: Any) -> None:
        if not self.spoilt and self._wrong(module):
            self.spoilt = list(self.running)
        self.running.pop()
        self.failed = list(self.running)


def inner_culprit(built: Any, module: Any, *, ill_formed: bool = False) -> str | None:
    """Name of the public pass inside ``built`` that raises (or first yields an ill-formed module) on ``module``.

    Runs the pass once more under an instrument. ``None`` when the failure does not come back.
    """
    known = _known(_traced(built, module), ill_formed)
    return known[0] if known else None


def innermost_culprit(built: Any, module: Any, wrong: Callable[[Any], bool] | None = None) -> str | None:
    """Name of the innermost public pass that runs when it happens: FuseTIR runs RemoveUnusedParameters, for instance.

    Args:
        built: The pass.
        module: What it is given.
        wrong: What is wrong with an output; by default that it is ill-formed.
    """
    known = _known(_traced(built, module, wrong), spoilt=True)
    return known[-1] if known else None


def _traced(built: Any, module: Any, wrong: Callable[[Any], bool] | None = None) -> _Trace:
    trace = _Trace(wrong or (lambda output: complaint(output) is not None))
    with tvm.transform.PassContext(instruments=[trace]):
        apply(built, module)
    return trace


def _known(trace: _Trace, spoilt: bool) -> list[str]:
    from oracles.contracts import CONTRACTS

    return [name for name in (trace.spoilt if spoilt else trace.failed) if name in CONTRACTS]
