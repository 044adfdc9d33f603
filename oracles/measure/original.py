"""The original program's side of numeric comparison: built once, run once on each of its inputs, shared by all passes
tried on a module.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from oracles.calling.compose import num_input_of
from oracles.core.evidence import evidence_of
from oracles.core.verdict import Evidence, Phase
from oracles.measure.comparison import compare
from oracles.measure.decisions import decides_on_floats, kernels_decide
from oracles.measure.definedness import alike, refusal, result_of
from oracles.measure.float64 import float64_run
from oracles.measure.input_variations import ASKED, SPECIAL, Variation, drawn
from oracles.measure.inputs import Unmaterializable, materialize
from oracles.measure.tolerance import RUNS, Measured, Unit
from relaxkit.interpreter import Undefined
from relaxkit.interpreter.registry import MISMATCH
from relaxkit.ir.domain import Given
from relaxkit.ir.functions import public_functions, symbol_of
from relaxkit.ir.types import floats_in
from relaxkit.passes.claims.restructure import impure_closures_called_as_pure
from relaxkit.proof.prove import Known
from relaxkit.runtime import (
    ExecMode,
    Program,
    ShapeValue,
    Value,
    from_tvm,
    movable_constants,
    private_constants,
    session,
)
from relaxkit.runtime.perturb import Perturber
from relaxkit.runtime.poison import OPPOSITE, PATTERNS, poisoned

if TYPE_CHECKING:
    import tvm

    from oracles.core.module_facts import ModuleFacts

KEPT = 16
OVERWRITES = "original overwrites its inputs"
DRAWN_ANEW = "a lifted value is drawn anew, and out of its range"
IN_PLACE = "relax.call_tir_inplace"
FORCE_PURE = "relax.force_pure"  # "treat this function as pure": its effects may go


@dataclass(frozen=True, slots=True)
class Entry:
    """One public function of the original, run on its arguments.

    Attributes:
        output: What it returned; meaningless when ``problem`` is set.
        problem: Why its results cannot be compared; empty when they can.
    """

    symbol: str
    num_input: int | None
    arguments: tuple[Any, ...]
    output: Value = None
    problem: str = ""
    error: Evidence | None = None
    printed: tuple[str, ...] = ()
    variation: Variation = Variation.DEFAULT

    @property
    def title(self) -> str:
        """The function and its inputs, for people."""
        return f"{self.symbol} on {self._inputs}" if self._inputs else self.symbol

    @property
    def on(self) -> str:
        """The inputs behind a phrase, for people; empty for ordinary ones."""
        return f" for {self._inputs}" if self._inputs else ""

    @property
    def _inputs(self) -> str:
        return "special inputs" if self.variation is Variation.CORNERS else self.variation.value


class Reporter(Protocol):
    """Whoever wants to know what is about to be done, since it may kill the process."""

    def __call__(self, stage: Phase, entry: str = "", mode: str = "") -> None:
        """Take note of a step, the function or operator that it is about, and how that is executed."""


def unreported(stage: Phase, entry: str = "", mode: str = "") -> None:
    """Take no note of a step."""


class Original:
    """A module before the pass, as an executable reference.

    Args:
        stage: Called before each step that may kill the process.
        source: Gives the module before it was prepared for the pass; by default it is ``module``.
    """

    def __init__(
        self,
        module: tvm.IRModule,
        text: str,
        seed: int,
        given: Given,
        stage: Reporter = unreported,
        source: Callable[[], tuple[Any, str]] | None = None,
    ) -> None:
        self.module = module
        self.text = text
        self.source = source or (lambda: (module, text))
        self.seed = seed
        self.given = given
        self.stage = stage
        self.calls_in_place = IN_PLACE in text
        self.float_dtypes = floats_in(text)
        invokes = "relax.invoke_pure_closure" in text  # of what has effects, it lets any pass drop them
        self.hides_effects = FORCE_PURE in text or (invokes and any(impure_closures_called_as_pure(self.source()[0])))
        self._measured: dict[tuple[str, Variation, Unit, int], Measured | None] = {}
        self._varied: dict[tuple[str, Variation], Entry | None] = {}
        self._truths: dict[tuple[str, Variation], Value] = {}
        self._steady: dict[str, bool] = {}
        self._clean: dict[tuple[str, Variation], bool] = {}
        self.evaluated: Known = {}
        self.build_error: Evidence | None = None

    @property
    def program(self) -> Program:
        """What was built, where it could be."""
        assert self.built is not None
        return self.built

    @cached_property
    def built(self) -> Program | None:
        """The module through the reference pipeline; ``None``, with :attr:`build_error` set, when that fails."""
        self.stage(Phase.BUILD_ORIGINAL)
        try:
            return session().build(private_constants(self.module))
        except Exception as error:
            self.build_error = evidence_of(error)
            return None

    @cached_property
    def compiled(self) -> Program | None:
        """The module in compiled mode, or ``None`` when it does not build that way."""
        self.stage(Phase.BUILD_ORIGINAL, mode=ExecMode.COMPILED.value)
        try:
            return session().build(private_constants(self.module), ExecMode.COMPILED)
        except Exception:
            return None

    @cached_property
    def decides(self) -> bool:
        """Say whether the module makes discrete decisions on floats."""
        return decides_on_floats(self.module)

    @cached_property
    def decides_inside_kernels(self) -> bool:
        """Say whether a kernel decides on a value of its own, which no perturbed run moves."""
        return kernels_decide(self.module)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every public Relax function but external ones, run once, and once more to see that it can be trusted."""
        names = self._names
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

    @cached_property
    def _names(self) -> dict[str, str]:
        """Names of the public functions in the module, by symbol."""
        return {symbol: gv.name_hint for gv, f in self.module.functions_items() if (symbol := symbol_of(f))}

    def varied(self, entry: Entry, special: bool) -> list[Entry]:
        """Return a function on the other inputs that the seed draws for it, as far as it is defined on them.

        Args:
            entry: The function on its inputs of the default domain; it has no problem.
            special: Whether special values are fair, too.
        """
        found = []
        for variation in drawn(self.seed):
            if special or variation not in SPECIAL:
                key = entry.symbol, variation
                if key not in self._varied:
                    self._varied[key] = self._vary(entry, variation)
                if (other := self._varied[key]) is not None:
                    found.append(other)
        return found

    def _vary(self, entry: Entry, variation: Variation) -> Entry | None:
        name = self._names[entry.symbol]
        try:
            arguments = tuple(materialize(self.module, name, self.seed, self.given, variation))
        except Unmaterializable:
            return None
        if variation is Variation.OTHER_DIMS and _shapes(arguments) == _shapes(entry.arguments):
            return None
        if variation is Variation.NO_ELEMENTS and not any(0 in shape for shape in _shapes(arguments)):
            return None
        expected: Value = None
        if variation in ASKED:
            self.stage(Phase.INTERPRET, entry.symbol)
            try:
                expected = result_of(*self.source(), name, arguments, variation)
            except Undefined:
                return None
        found = replace(self._run(entry.symbol, entry.num_input, arguments), variation=variation)
        if found.problem:
            return None
        # A reduction over an empty axis, as TVM 0.27 legalizes it, leaves its output as the memory was.
        return found if variation not in ASKED or (alike(expected, found.output) and self.clean(found)) else None

    def steady(self, entry: Entry, others: list[Entry]) -> bool:
        """Say whether calls on other inputs leave alone what the function gave before, and what it gives afterwards."""
        if entry.symbol not in self._steady:
            self.stage(Phase.REPEAT_ORIGINAL, entry.symbol)
            held = self.program.call_raw(entry.symbol, self.program.arguments(entry.arguments))
            for other in others:
                self.program.call(other.symbol, other.arguments)
            kept = compare(entry.output, from_tvm(held)) is None
            again = compare(entry.output, self.program.call(entry.symbol, entry.arguments)) is None
            self._steady[entry.symbol] = kept and again
        return self._steady[entry.symbol]

    def clean(self, entry: Entry) -> bool:
        """Say whether what the function gives, and prints, does not depend on what was in its memory before."""
        key = entry.symbol, entry.variation
        if key not in self._clean:
            self.stage(Phase.POISON_ORIGINAL, entry.symbol)
            self._clean[key] = all(self._unmoved(entry, pattern) for pattern in (*PATTERNS, OPPOSITE))
        return self._clean[key]

    def _unmoved(self, entry: Entry, pattern: int) -> bool:
        try:
            with poisoned(self.program, pattern):
                self.program.take_output()
                same = compare(entry.output, self.program.call(entry.symbol, entry.arguments)) is None
                return same and self.program.take_output() == entry.printed
        except Exception:
            return False

    @cached_property
    def _anew(self) -> frozenset[str]:
        """Symbols of functions that preparation has given other parameters: values that were computed are drawn now."""
        before = {
            symbol: [str(param.name) for param in function.params]
            for symbol, function in public_functions(self.source()[0]).items()
        }
        return frozenset(
            symbol
            for symbol, function in public_functions(self.module).items()
            if symbol in before and [str(param.name) for param in function.params] != before[symbol]
        )

    def declared_dtype(self, entry: Entry, path: tuple[int, ...]) -> str:
        """Return the dtype that a function declares for an output; empty where it declares none."""
        declared = self.module[self._names[entry.symbol]].ret_ty
        for index in path:
            fields = getattr(declared, "fields", ())
            declared = fields[index] if index < len(fields) else None
        return str(getattr(declared, "dtype", None) or "")

    def _refused(self, symbol: str, arguments: tuple[Any, ...]) -> str:
        self.stage(Phase.INTERPRET, symbol)
        return refusal(self.module, self._names[symbol], arguments)

    def fits(self, entry: Entry) -> bool:
        """Say whether operands fit where types with symbols cannot say so; the minimizer's modules may read beyond."""
        return self._refused(entry.symbol, entry.arguments) != MISMATCH

    def is_documented(self, entry: Entry) -> bool:
        """Say whether the interpreter can tell what a call gives."""
        return not self._refused(entry.symbol, entry.arguments)

    def _run(self, symbol: str, num_input: int | None, arguments: tuple[Any, ...]) -> Entry:
        # They must be as good as those that modules are drawn for: a lifted index may be out of range.
        if symbol in self._anew and self._refused(symbol, arguments):
            return Entry(symbol, num_input, arguments, problem=DRAWN_ANEW)
        self.stage(Phase.RUN_ORIGINAL, symbol)
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
            return Entry(symbol, num_input, arguments, problem=OVERWRITES)
        if compare(output, again) is not None:
            return Entry(symbol, num_input, arguments, problem="original is not deterministic")
        return Entry(symbol, num_input, arguments, output, printed=printed)

    def overwrites(self, entry: Entry) -> bool:
        """Say whether a function writes to its inputs itself: what it wrote may have been what was there."""
        drawn = (materialize(self.module, self._names[entry.symbol], self.seed + each, self.given) for each in (1, 2))
        return any(self._run(entry.symbol, entry.num_input, (*each,)).problem == OVERWRITES for each in drawn)

    def measured(self, entry: Entry, unit: Unit, runs: int = RUNS) -> Measured | None:
        """Perturbed runs of a function, made when they are asked for; ``None`` when one of them raised."""
        key = (entry.symbol, entry.variation, unit, runs)
        if key not in self._measured:
            self.stage(Phase.PERTURB_ORIGINAL, entry.symbol)
            self._measured[key] = self._measure(entry, unit, runs)
        return self._measured[key]

    def truth(self, entry: Entry) -> Value:
        """Run a function in float64, as it was before preparation; ``None`` where the interpreter cannot say."""
        key = entry.symbol, entry.variation
        if key not in self._truths:
            self.stage(Phase.INTERPRET, entry.symbol)
            self._truths[key] = float64_run(self.source()[0], entry.symbol, entry.arguments)
        return self._truths[key]

    @cached_property
    def _movable(self) -> tuple[Program, tuple[tuple[Any, Any], ...]]:
        """The program to perturb, and those of its constants that are moved like arguments, each with its value.

        What a kernel rounds inside shows when its operands are moved, and weights may be constants. A single number is
        left alone: it bounds a domain more often than it is summed.
        """
        module, tensors = movable_constants(self.module)
        if module.same_as(self.module):
            return self.program, ()
        try:
            program = session().build(module)
        except Exception:  # a shape that is lost where types are inferred again: measured as it is
            return self.program, ()
        return program, tuple((each, each.numpy().copy()) for each in tensors)

    def _measure(self, entry: Entry, unit: Unit, count: int) -> Measured | None:
        random = np.random.default_rng(self.seed & 0xFFFFFFFF)
        observer = Perturber(random, unit.relative, unit.floor)
        runs = []
        program, constants = self._movable
        program.instrument(observer)
        try:
            for _ in range(count):
                observer.begin()
                for tensor, value in constants:
                    tensor.copyfrom(moved(value, observer))
                runs.append(program.call(entry.symbol, [moved(a, observer) for a in entry.arguments]))
        except Exception:
            return None
        finally:
            program.instrument(None)
        return Measured(tuple(runs), unit, observer.elements, observer.largest, observer.smallest)


def copied(value: Any) -> Any:
    """Return a copy of a tree of arguments in plain values."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (tuple, list):
        return tuple(copied(item) for item in value)
    return from_tvm(value)


def moved(argument: Any, observer: Perturber) -> Any:
    """Return an argument with its floats moved by one rounding: none in the default domain's [-2, 2] leaves that."""
    if isinstance(argument, np.ndarray) and "float" in argument.dtype.name:
        plain, other = argument.astype("float64"), observer.rounded(argument).astype("float64")
        with np.errstate(invalid="ignore"):
            inside = np.abs(plain) <= 2.0
        return np.asarray(np.where(inside, np.clip(other, -2.0, 2.0), other)).astype(argument.dtype)
    if type(argument) in (tuple, list):
        return tuple(moved(item, observer) for item in argument)
    return argument


def _shapes(value: Any) -> list[tuple[int, ...]]:
    """Shapes of all arrays of a tree of arguments, and the dims and integers in it."""
    if isinstance(value, np.ndarray):
        return [value.shape]
    if isinstance(value, int):
        return [(-1, value)]  # no empty tensor
    if type(value) in (tuple, list):
        return [shape for item in value for shape in _shapes(item)]
    plain = from_tvm(value)
    return [(-1, *plain.dims)] if isinstance(plain, ShapeValue) else []


_kept: OrderedDict[tuple[Any, ...], tuple[Any, Original]] = OrderedDict()


def original_of(
    facts: ModuleFacts,
    module: tvm.IRModule,
    seed: int,
    given: Given,
    stage: Reporter,
    source: Callable[[], tuple[Any, str]] | None = None,
) -> Original:
    """Return the original of a prepared module, a seed and what is given, made once while it stays in use."""
    key = (id(facts), id(session()), seed, given.key)
    found = _kept.get(key)
    if found is None:
        # What the key names by address is kept, so that the address is not given to another object.
        found = _kept[key] = ((facts, session()), Original(module, facts.snapshot, seed, given, stage, source))
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    found[1].stage = stage
    return found[1]
