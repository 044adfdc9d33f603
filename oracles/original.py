"""The original program's side of numeric comparison: built once, run once, shared by all passes tried on a module."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oracles.abi.compose import num_input_of, public_functions
from oracles.capture import evidence_of
from oracles.comparison import compare
from oracles.decisions import decides_on_floats, kernels_decide
from oracles.execution import ExecMode, Program, Value, from_tvm, private_constants, session
from oracles.execution.perturb import Perturber
from oracles.given import Given
from oracles.inputs import Unmaterializable, materialize
from oracles.tolerance import RUNS, Measured, Unit
from oracles.verdict import Evidence

KEPT = 16
IN_PLACE = "relax.call_tir_inplace"
FORCE_PURE = "relax.force_pure"  # "treat this function as pure": its effects may go
_FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


@dataclass(frozen=True, slots=True)
class Entry:
    """One public function of the original, run on its arguments.

    Attributes:
        symbol: Its global symbol.
        num_input: Its attribute of that name.
        arguments: What it was called with.
        output: What it returned; meaningless when ``problem`` is set.
        problem: Why its results cannot be compared; empty when they can.
        error: What it raised.
        printed: What it printed.
    """

    symbol: str
    num_input: int | None
    arguments: tuple[Any, ...]
    output: Value = None
    problem: str = ""
    error: Evidence | None = None
    printed: tuple[str, ...] = ()


class Original:
    """A module before the pass, as an executable reference.

    Args:
        module: The module.
        text: The module as JSON.
        seed: Seed of the arguments.
        given: What is fixed of the arguments.
        stage: Called with a few words before each step that may kill the process.
    """

    def __init__(self, module: Any, text: str, seed: int, given: Given, stage: Callable[[str], None]) -> None:
        self.module = module
        self.seed = seed
        self.given = given
        self.stage = stage
        self.calls_in_place = IN_PLACE in text
        self.float_dtypes = tuple(dtype for dtype in _FLOATS if f'"{dtype}"' in text)
        self.hides_effects = FORCE_PURE in text
        self._measured: dict[tuple[str, Unit, int], Measured | None] = {}
        self.build_error: Evidence | None = None

    @cached_property
    def program(self) -> Program | None:
        """The module through the reference pipeline; ``None``, with :attr:`build_error` set, when that fails."""
        self.stage("build original")
        try:
            return session().build(private_constants(self.module))
        except Exception as error:
            self.build_error = evidence_of(error)
            return None

    @cached_property
    def compiled(self) -> Program | None:
        """The module in compiled mode, or ``None`` when it does not build that way."""
        self.stage("build original compiled")
        try:
            return session().build(private_constants(self.module), ExecMode.COMPILED)
        except Exception:
            return None

    @cached_property
    def decides(self) -> bool:
        """Whether the module makes discrete decisions on floats."""
        return decides_on_floats(self.module)

    @cached_property
    def decides_inside_kernels(self) -> bool:
        """Whether a kernel decides on a value of its own, which no perturbed run moves."""
        return kernels_decide(self.module)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every public Relax function but external ones, run once, and once more to see that it can be trusted."""
        names = {str(f.attrs["global_symbol"]): gv.name_hint for gv, f in self.module.functions_items() if _public(f)}
        entries = []
        for symbol, function in sorted(public_functions(self.module).items()):
            if "Codegen" in function.attrs:  # public for the linker only, and gone after RunCodegen
                continue
            try:
                arguments = tuple(materialize(self.module, names[symbol], self.seed, self.given))
            except Unmaterializable as error:
                entries.append(Entry(symbol, None, (), problem=error.reason))
                continue
            entries.append(self._run(symbol, num_input_of(function), arguments))
        return tuple(entries)

    def _run(self, symbol: str, num_input: int | None, arguments: tuple[Any, ...]) -> Entry:
        assert self.program is not None
        self.stage(f"run original {symbol}")
        before = copied(arguments)
        try:
            tensors = self.program.arguments(arguments)
            self.program.take_output()
            output = self.program.call(symbol, tensors)
            printed = self.program.take_output()
            overwritten = compare(before, self.program.plain(tensors)) is not None
            again = self.program.call(symbol, arguments)
        except Exception as error:
            return Entry(symbol, num_input, arguments, problem="original raises at run time", error=evidence_of(error))
        if overwritten:
            return Entry(symbol, num_input, arguments, problem="original overwrites its inputs")
        if compare(output, again) is not None:
            return Entry(symbol, num_input, arguments, problem="original is not deterministic")
        return Entry(symbol, num_input, arguments, output, printed=printed)

    def measured(self, entry: Entry, unit: Unit, runs: int = RUNS) -> Measured | None:
        """Perturbed runs of a function, made when they are asked for; ``None`` when one of them raised."""
        key = (entry.symbol, unit, runs)
        if key not in self._measured:
            self.stage(f"perturb original {entry.symbol}")
            self._measured[key] = self._measure(entry, unit, runs)
        return self._measured[key]

    def _measure(self, entry: Entry, unit: Unit, count: int) -> Measured | None:
        assert self.program is not None
        random = np.random.default_rng(self.seed & 0xFFFFFFFF)
        observer = Perturber(random, unit.relative, unit.floor)
        runs = []
        self.program.instrument(observer)
        try:
            for _ in range(count):
                observer.begin()
                runs.append(self.program.call(entry.symbol, [_moved(a, observer) for a in entry.arguments]))
        except Exception:
            return None
        finally:
            self.program.instrument(None)
        return Measured(tuple(runs), unit, observer.elements, observer.largest, observer.smallest)


def copied(value: Any) -> Any:
    """A copy of a tree of arguments in plain values."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (tuple, list):
        return tuple(copied(item) for item in value)
    return from_tvm(value)


def _moved(argument: Any, observer: Perturber) -> Any:
    """An argument with its floats moved by one rounding, but not out of the default domain's [-2, 2]."""
    if isinstance(argument, np.ndarray) and "float" in argument.dtype.name:
        return np.asarray(np.clip(observer.rounded(argument).astype("float64"), -2.0, 2.0)).astype(argument.dtype)
    if type(argument) in (tuple, list):
        return tuple(_moved(item, observer) for item in argument)
    return argument


def _public(function: Any) -> bool:
    return getattr(function, "attrs", None) is not None and "global_symbol" in function.attrs


_kept: OrderedDict[tuple[Any, ...], tuple[Any, Original]] = OrderedDict()


def original_of(facts: Any, module: Any, seed: int, given: Given, stage: Callable[[str], None]) -> Original:
    """The original of a module's facts, a seed and what is given, made once while it stays in use."""
    key = (id(facts), id(session()), seed, given.key)
    found = _kept.get(key)
    if found is None:
        # What the key names by address is kept, so that the address is not given to another object.
        found = _kept[key] = ((facts, session()), Original(module, facts.snapshot, seed, given, stage))
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    found[1].stage = stage
    return found[1]
