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


def _unobserved(running: tuple[str, ...], output: tvm.IRModule) -> None:
    pass


@pass_instrument
class PassTrace:
    """Shows an observer each pass that ends: the passes that are running, outermost first, and the output.

    Attributes:
        running: The passes that are running.
        entered: What those were given.
        first: What the first run of each pass was given, in the order of these runs.
    """

    def __init__(self, observe: Callable[[tuple[str, ...], tvm.IRModule], None] = _unobserved) -> None:
        self.running: list[str] = []
        self.entered: list[tvm.IRModule] = []
        self.first: dict[str, tvm.IRModule] = {}
        self._observe = observe

    def follow(self, built: tvm.ir.transform.Pass, module: tvm.IRModule) -> PassTrace:
        """Run a pass; return the trace itself."""
        with tvm.transform.PassContext(instruments=[self]):
            apply(built, module)
        return self

    def run_before_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Note the pass."""
        self.running.append(str(info.name))
        self.entered.append(module)
        self.first.setdefault(str(info.name), module)

    def run_after_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Show the output."""
        _drop_raised(self.running, info)
        del self.entered[len(self.running) :]
        self._observe(tuple(self.running), module)
        self.running.pop()
        self.entered.pop()


@pass_instrument
class BegunPasses:
    """Tells the outermost public pass that is running, or none, whenever a pass begins or ends; keeps no module."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._running: list[str] = []

    def run_before_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Tell of the pass."""
        self._running.append(str(info.name))
        self._tell(next(iter(_public(self._running)), ""))

    def run_after_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Tell of the pass that goes on."""
        _drop_raised(self._running, info)
        self._running.pop()
        self._tell(next(iter(_public(self._running)), ""))


def _drop_raised(running: list[str], ending: tvm.ir.transform.PassInfo) -> None:
    """Forget the passes inside of one that ends: they have raised what it caught, and TVM tells of no end of theirs."""
    while running[-1] != ending.name:
        running.pop()


def _public(names: Iterable[str]) -> list[str]:
    from relaxkit.passes.contracts import CONTRACTS

    return [name for name in names if name in CONTRACTS]


def first_wrong(
    built: tvm.ir.transform.Pass, module: tvm.IRModule, wrong: Callable[[tvm.IRModule], object]
) -> list[tuple[str, tvm.IRModule]]:
    """Return the passes that run when one first gives a wrong module of one that is not, and their inputs.

    The outermost comes first.  A pass that was given a wrong module, by the one that runs it, is none of them.
    """
    found: list[tuple[str, tvm.IRModule]] = []

    def observe(running: tuple[str, ...], output: tvm.IRModule) -> None:
        if not found and wrong(output):
            found.extend(each for each in zip(running, trace.entered, strict=True) if not wrong(each[1]))

    trace = PassTrace(observe)
    trace.follow(built, module)
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
    if wrong is None:
        names = PassTrace().follow(built, module).running
    else:
        names = [name for name, _ in first_wrong(built, module, wrong)]
    public = _public(names)
    return public[-1 if innermost else 0] if public else None


def names_inside(built: tvm.ir.transform.Pass, module: tvm.IRModule) -> tuple[str, ...]:
    """Return the names of all passes that run inside of a pass, in the order of their first runs."""
    return (*PassTrace().follow(built, module).first,)[1:]


def run_inside(built: tvm.ir.transform.Pass, module: tvm.IRModule, name: str) -> tuple[Any, Any] | None:
    """Return the modules before and after the first run of a pass inside of another; ``None`` where it does not end."""
    ended: list[tvm.IRModule] = []
    trace = PassTrace(lambda running, output: ended.append(output) if running[-1] == name else None)
    given = trace.follow(built, module).first.get(name)
    return (given, ended[0]) if ended else None


def entering(built: tvm.ir.transform.Pass, module: tvm.IRModule, name: str) -> Any:
    """Return the module that the first run of a pass inside of another is given; ``None`` where there is none."""
    return PassTrace().follow(built, module).first.get(name)


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
