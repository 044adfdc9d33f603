"""The step of a pipeline, or the pass inside of a composed one, that is to blame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import tvm
import tvm_ffi
from tvm.ir.instrument import pass_instrument

from oracles.core.module_facts import apply

Found = TypeVar("Found")


def first_step(faults: Iterable[Found | None]) -> tuple[int, Found] | None:
    """Return the number of the first step with a fault, and the fault; what is false is none."""
    return next(((index, fault) for index, fault in enumerate(faults) if fault), None)


@pass_instrument
class PassTrace:
    """Shows an observer each pass that ends: the passes that are running, outermost first, and the output."""

    def __init__(self, observe: Callable[[tuple[str, ...], tvm.IRModule], None]) -> None:
        self.running: list[str] = []
        self.entered: list[tvm.IRModule] = []  # what those that are running were given
        self._observe = observe

    def run_before_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Note the pass."""
        self.running.append(str(info.name))
        self.entered.append(module)

    def run_after_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Show the output."""
        self._observe(tuple(self.running), module)
        self.running.pop()
        self.entered.pop()


def first_wrong(
    built: tvm.ir.transform.Pass, module: tvm.IRModule, wrong: Callable[[tvm.IRModule], object]
) -> list[str]:
    """Return the names of the passes that run when one first gives a wrong module of one that is not, outermost first.

    A pass that was given a wrong module, by the one that runs it, is none of them.
    """
    found: list[str] = []

    def observe(running: tuple[str, ...], output: tvm.IRModule) -> None:
        if not found and wrong(output):
            found.extend(name for name, given in zip(running, trace.entered, strict=True) if not wrong(given))

    trace = PassTrace(observe)
    with tvm.transform.PassContext(instruments=[trace]):
        apply(built, module)
    return found


def inner_pass(
    built: tvm.ir.transform.Pass,
    module: tvm.IRModule,
    wrong: Callable[[tvm.IRModule], object] | None = None,
    *,
    innermost: bool = False,
) -> str | None:
    """Return the name of the public pass inside of a pass that is to blame; ``None`` when the failure is not seen.

    Runs the pass once more under an instrument.

    Args:
        wrong: Says of an output whether it is wrong: the first such pass is to blame. By default the one that raises.
        innermost: Whether to name the innermost of the passes that run then (FuseTIR runs RemoveUnusedParameters, for
            instance), and not the outermost.
    """
    from relaxkit.passes.contracts import CONTRACTS

    names = _raising(built, module) if wrong is None else first_wrong(built, module, wrong)
    public = [name for name in names if name in CONTRACTS]
    return public[-1 if innermost else 0] if public else None


def _raising(built: tvm.ir.transform.Pass, module: tvm.IRModule) -> list[str]:
    trace = PassTrace(lambda running, output: None)
    with tvm.transform.PassContext(instruments=[trace]):
        apply(built, module)
    return trace.running


def names_inside(built: tvm.ir.transform.Pass, module: tvm.IRModule) -> frozenset[str]:
    """Return the names of all passes that run inside of a pass."""
    seen: set[str] = set()

    def observe(running: tuple[str, ...], output: tvm.IRModule) -> None:
        seen.update(running[1:])

    trace = PassTrace(observe)
    with tvm.transform.PassContext(instruments=[trace]):
        apply(built, module)
    return frozenset((*seen, *trace.running[1:]))


def run_inside(built: tvm.ir.transform.Pass, module: tvm.IRModule, name: str) -> tuple[Any, Any] | None:
    """Return the modules before and after the first run of a pass inside of another; ``None`` where it does not end."""
    watch = _watched(built, module, name)
    return (watch.before, watch.after) if watch.after is not None else None


def entering(built: tvm.ir.transform.Pass, module: tvm.IRModule, name: str) -> Any:
    """Return the module that the first run of a pass inside of another is given; ``None`` where there is none."""
    return _watched(built, module, name).before


def _watched(built: tvm.ir.transform.Pass, module: tvm.IRModule, name: str) -> _RunWatch:
    watch = _RunWatch(name)
    with tvm.transform.PassContext(instruments=[watch]):
        apply(built, module)
    return watch


@pass_instrument
class _RunWatch:
    """Keeps the input and the output of the first run of a pass."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.before: tvm.IRModule | None = None
        self.after: tvm.IRModule | None = None

    def run_before_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Keep the input."""
        if str(info.name) == self._name and self.before is None:
            self.before = module

    def run_after_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Keep the output."""
        if str(info.name) == self._name and self.after is None:
            self.after = module


def first_writer(built: tvm.ir.transform.Pass, module: tvm.IRModule) -> str:
    """Return the name of the innermost pass that modifies its input module; empty when none does."""
    watch = _InputWatch()
    with tvm.transform.PassContext(instruments=[watch]):
        apply(built, module)
    return watch.writer


@pass_instrument
class _InputWatch:
    """Holds the input of each pass, so that it cannot be the only owner, and looks at it again when the pass ends."""

    def __init__(self) -> None:
        self.writer = ""
        self._entered: list[tuple[tvm.IRModule, int]] = []

    def run_before_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Keep the input."""
        self._entered.append((module, int(tvm_ffi.structural_hash(module))))

    def run_after_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Compare the input; the innermost pass ends first."""
        entered, before = self._entered.pop()
        if not self.writer and int(tvm_ffi.structural_hash(entered)) != before:
            self.writer = str(info.name)
