"""Which pass inside a composed one is to blame."""

from __future__ import annotations

from typing import Any

import tvm
from tvm.ir.instrument import pass_instrument

from oracles.facts import apply, complaint


@pass_instrument
class _Trace:
    """Records the passes that are running, outermost first, and the first that gave an ill-formed module."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.failed: list[str] = []
        self.ill_formed: list[str] = []

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.running.append(str(info.name))
        self.failed = list(self.running)

    def run_after_pass(self, module: Any, info: Any) -> None:
        if not self.ill_formed and complaint(module) is not None:
            self.ill_formed = list(self.running)
        self.running.pop()
        self.failed = list(self.running)


def inner_culprit(built: Any, module: Any, *, ill_formed: bool = False) -> str | None:
    """Name of the public pass inside ``built`` that raises (or first yields an ill-formed module) on ``module``.

    Runs the pass once more under an instrument. ``None`` when the failure does not come back.
    """
    from oracles.contracts import CONTRACTS

    trace = _Trace()
    with tvm.transform.PassContext(instruments=[trace]):
        apply(built, module)
    names = trace.ill_formed if ill_formed else trace.failed
    known = [name for name in names if name in CONTRACTS]
    return known[0] if known else None
