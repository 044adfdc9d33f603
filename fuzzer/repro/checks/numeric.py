"""The numeric oracle in a script: inputs, adapters and tolerances as literals.

Most numeric failures are shown in a short form: a program that does not build, does not run, or returns something else.
Whether that is enough is found out by asking it, before the script is written.  The long form judges exactly as the
oracle does: it knows how callers must change, closures, effects, repeated calls, memory, a tolerance for each element.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tvm
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.repro.checks.check import Check, FailingCase, ScriptCheck, Told
from fuzzer.repro.module.format import wrapped
from fuzzer.repro.pieces import plain
from oracles.calling.compose import num_input_of
from oracles.core.subject import Subject
from oracles.core.verdict import NOT_AS_DOCUMENTED, Evidence, Phase
from oracles.gradient.oracle import KIND, arguments_for, gradients_of, noise_of
from oracles.measure.comparison import is_floating
from oracles.measure.input_variations import ASKED, Variation, drawn
from oracles.measure.inputs import Unmaterializable, materialize
from oracles.measure.original import Entry, Original
from oracles.measure.tolerance import unit_of
from oracles.numeric.compare_call import candidate_of
from oracles.numeric.compare_programs import Candidate
from relaxkit.ir.functions import public_functions, symbol_of
from relaxkit.passes.arguments import given_of
from relaxkit.passes.contract import NumericPromise, OracleName
from relaxkit.runtime import ExecMode, cxx_available

# Values as Python literals, for scripts.

_INLINE_ELEMENTS = 256


def leaves_of(value: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """Return the arrays of floats in a result, each with its place in nested tuples."""
    if isinstance(value, np.ndarray):
        return [(path, value)] if is_floating(value.dtype) else []
    if isinstance(value, tuple):
        return [leaf for index, item in enumerate(value) for leaf in leaves_of(item, (*path, index))]
    return []


def literal(value: Any) -> str:
    """Python source of an argument: array, number, shape, or a tuple of those."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, tvm.runtime.ShapeTuple):
        return f"tvm.runtime.ShapeTuple({[int(item) for item in value]})"
    if isinstance(value, tuple | list):
        return f"({''.join(literal(item) + ', ' for item in value)})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _array(value: np.ndarray[Any, Any]) -> str:
    dtype = value.dtype.name
    finite = not is_floating(value.dtype) or bool(np.all(np.isfinite(value.astype("float64"))))
    if value.size <= _INLINE_ELEMENTS and finite:
        return f"np.array({value.ravel().tolist()!r}, {dtype!r}).reshape({value.shape!r})"
    packed = base64.b85encode(zlib.compress(np.ascontiguousarray(value).tobytes())).decode()
    return f"unpacked({packed!r}, {dtype!r}, {value.shape!r})"


PLAIN_PIECES = (
    "relaxkit/runtime/values.py",
    "relaxkit/runtime/compile/lowering.py",
    "relaxkit/runtime/run.py",
    "fuzzer/repro/pieces/plain.py",
)
NUMERIC_PIECES = (
    "relaxkit/runtime/values.py",
    "relaxkit/runtime/compile/lowering.py",
    "relaxkit/runtime/compile/linking.py",
    "relaxkit/runtime/run.py",
    "relaxkit/runtime/poison.py",
    "oracles/measure/comparison.py",
    "oracles/calling/frame.py",
    "oracles/calling/parameters.py",
    "oracles/calling/lazy.py",
    "oracles/calling/gradient.py",
    "oracles/calling/compose.py",
    "oracles/measure/finite_differences.py",
    *PLAIN_PIECES,
    "fuzzer/repro/pieces/numeric.py",
)
_REPEATED = ("output-overwritten", "later-call-differs")
_RESULTS = ("run-error", "wrong-value", "wrong-shape", "wrong-dtype", "wrong-structure")
_MOST_INPUTS = 4


def _build_numeric(failure: FailingCase) -> Check:
    """Build and run the original to get the literals; of a program that ends its process the inputs are only drawn."""
    evidence = failure.evidence
    compiled = evidence.details.mode == ExecMode.COMPILED.value or failure.verdict.culprit == "VMTIRCodeGen"
    mode = ExecMode.COMPILED.value if compiled else ExecMode.BYTECODE.value
    if failure.died and evidence.details.stage is Phase.BUILD_ORIGINAL:
        return Check(f"('OK', str(built(module, {mode!r})))", PLAIN_PIECES)
    original, candidate = programs_of(failure)
    if evidence.kind == KIND:
        return _gradient_check(original, candidate, evidence)
    entries: list[Entry] = []
    if failure.died:
        entries = drawn_entries(original)
    elif evidence.kind != "does-not-build":
        entries = entries_of(original, candidate, evidence)
    words = failure.fragments if evidence.kind in ("does-not-build", "run-error") else []
    short = _short_check(failure, original, candidate, entries, words, mode)
    return short or _long_check(failure, original, candidate, entries, words, mode)


def programs_of(failure: FailingCase) -> tuple[Original, Candidate]:
    """Return the program before the passes and the one behind them; raises ``ValueError`` where it has no stage."""
    case = failure.case
    subject = Subject(failure.module, case.passes, input_seed=case.input_seed)
    facts, whole = subject.facts, subject.original_facts
    if facts is None:
        raise ValueError("the module cannot be prepared")
    source = whole.reload or whole.module, whole.snapshot
    fixed = given_of([(step.ref.name, step.ref.expression) for step in subject.plan.steps])
    original = Original(facts.reload or facts.module, facts.snapshot, case.input_seed, fixed, source=lambda: source)
    return original, candidate_of(subject, original, len(subject.plan.steps) - 1)


def _short_check(
    failure: FailingCase, original: Original, candidate: Candidate, entries: list[Entry], words: list[str], mode: str
) -> Check | None:
    """Make the short form; ``None`` where only the long one shows the failure.

    Args:
        failure: The failure.
        original: The program before the passes.
        candidate: The module after them.
        entries: What is called.
        words: Parts of the error's message that is expected.
        mode: How programs are executed.
    """
    evidence, how = failure.evidence, (words, mode, candidate.lowered)
    if any(ref.substitute for ref in failure.case.passes):
        return None
    if not failure.died and not cxx_available():
        return None
    building = evidence.details.stage is Phase.BUILD if failure.died else evidence.kind == "does-not-build"
    if building:
        shown = failure.died or _shows(plain.builds, original, candidate, *how)
        return Check(f"check_builds(module, passes, {_listed(how)})", NUMERIC_PIECES) if shown else None
    # A program that ends its process cannot be asked.
    if candidate.adapters or not entries:
        return None
    tolerance = 0.0
    if not failure.died:
        if evidence.kind not in _RESULTS or len(entries) > _MOST_INPUTS:
            return None
        # A failure that is well above the largest tolerance of any element needs no table of them.
        allowed = (each.max(initial=0.0) for _, _, each in tolerances_of(original, candidate, entries))
        tolerance = max([0.0, *map(float, allowed)])
        called = [(entry.symbol, entry.arguments) for entry in entries]
        if not _shows(plain.returns, original, candidate, called, evidence.kind, *how, tolerance):
            return None
    call = f"check_results(module, passes, inputs(), {_listed((evidence.kind, *how, tolerance))})"
    rows = (f"({entry.symbol!r}, {_arguments(entry)})" for entry in entries)
    return Check(
        call, NUMERIC_PIECES, _function("inputs", "Functions to call, and their arguments.", _block("[", rows, "]"))
    )


def _long_check(
    failure: FailingCase, original: Original, candidate: Candidate, entries: list[Entry], words: list[str], mode: str
) -> Check:
    """Make the long form; the arguments are those of :func:`_short_check`."""
    calls = (f"({entry.symbol!r}, {entry.title!r}, {entry.num_input!r}, {_arguments(entry)})" for entry in entries)
    table: list[str] = []
    if not failure.died:
        found = tolerances_of(original, candidate, entries)
        table = [f"({entry.title!r}, {path!r}): {literal(array)}" for entry, path, array in found if array.any()]
    preamble = (
        _function(
            "inputs", "Public functions to call: name, name with its inputs, num_input, arguments.",
            _block("[", calls, "]"),
        )
        + _function(
            "adapters", "How callers must change for what the passes do to the calling convention.",
            _block("(", map(repr, candidate.adapters), ")"),
        )
        + _function(
            "tolerances", "Absolute tolerances by name with inputs and path of the output.", _block("{", table, "}")
        )
    )  # fmt: skip
    call = (
        f"check_numeric(module, passes, inputs(), adapters(), {failure.evidence.kind!r}, {words!r}, {mode!r}, "
        f"{candidate.lowered}, tolerances())"
    )
    return Check(call, NUMERIC_PIECES, preamble)


def _gradient_check(original: Original, candidate: Candidate, evidence: Evidence) -> Check:
    """Make the check of an adjoint that is wrong; raises ``ValueError`` where it is gone."""
    entries = {entry.symbol: entry for entry in original.entries if not entry.problem}
    for gradient, later, changed in gradients_of(candidate.adapters):
        if changed or gradient.function not in entries or gradient.adjoint != evidence.details.entry:
            continue
        entry = entries[gradient.function]
        arguments = arguments_for(original, gradient, entry)
        adapters = _block("(", map(repr, later), ")")
        preamble = (
            _function("gradient", "What was differentiated.", repr(gradient))
            + _function("later", "How callers must change for the passes behind it.", adapters)
            + _function("arguments", "Where it was differentiated.", _block("(", map(literal, arguments), ")"))
        )
        exact = candidate.promise is NumericPromise.BIT_EXACT
        noise = noise_of(original, gradient, arguments)
        how = f"gradient(), later(), {entry.num_input!r}, arguments(), {noise!r}, {exact}"
        return Check(f"check_gradient(module, passes, {how})", NUMERIC_PIECES, preamble)
    raise ValueError("the adjoint is gone")


def drawn_entries(original: Original) -> list[Entry]:
    """Draw arguments for the public functions, nothing of which is run."""
    module, found = original.module, []
    for gv, function in module.functions_items():
        symbol = symbol_of(function)
        if symbol not in public_functions(module) or "Codegen" in function.attrs:
            continue
        for variation in (Variation.DEFAULT, *(item for item in drawn(original.seed) if item not in ASKED)):
            try:
                arguments = materialize(module, str(gv.name_hint), original.seed, original.given, variation)
            except Unmaterializable:
                continue
            found.append(Entry(symbol, num_input_of(function), tuple(arguments), variation=variation))
    return found


def entries_of(original: Original, candidate: Candidate, evidence: Evidence) -> list[Entry]:
    """List what the script calls: each function on the inputs that show the failure, and on those before them.

    A failure on other inputs than the first says so; of a death of the process nobody knows on which inputs it was.
    """
    first = [entry for entry in original.entries if not entry.problem]
    special = candidate.promise is NumericPromise.BIT_EXACT and not candidate.adapters
    every = {entry.symbol: [entry, *original.varied(entry, special)] for entry in first}
    called = [entry for entries in every.values() for entry in entries]
    wanted = evidence.details.entry, evidence.details.variation
    shown = next((entry for entry in called if (entry.symbol, entry.variation.value) == wanted), None)
    if shown is None:
        return called
    if evidence.kind in _REPEATED:
        return every[shown.symbol]
    return first if shown.variation is Variation.DEFAULT else [shown]


def _shows(judge: Callable[..., tuple[str, str]], original: Original, candidate: Candidate, *arguments: Any) -> bool:
    """Say whether a short form shows the failure here."""
    copies = [from_json_graph_str(str(tvm.ir.save_json(each.module))) for each in (original, candidate)]
    try:
        outcome, _ = judge(*copies, *arguments)
    except Exception:
        return False
    return outcome == "BUG"


def tolerances_of(
    original: Original, candidate: Candidate, entries: list[Entry]
) -> list[tuple[Entry, tuple[int, ...], Any]]:
    """List how far each element of a result may be off, by entry and path; nothing for a bit-exact promise."""
    if candidate.promise is NumericPromise.BIT_EXACT:
        return []
    unit = unit_of(candidate.promise, original.float_dtypes)
    measured = [(entry, original.measured(entry, unit)) for entry in entries]
    return [
        (entry, path, found.tolerance(path, array, array))
        for entry, found in measured
        if found is not None
        for path, array in leaves_of(entry.output)
    ]


def _listed(arguments: Iterable[Any]) -> str:
    return ", ".join(map(repr, arguments))


def _arguments(entry: Entry) -> str:
    """Write the arguments of a call as a tuple."""
    return f"({''.join(f'{literal(item)}, ' for item in entry.arguments).removesuffix(' ')})"


def _function(name: str, what: str, value: str) -> str:
    """Write a function without parameters: what it returns may need what stands further down in a script."""
    return wrapped(f'def {name}():\n    """{what}"""\n    return {value}\n') + "\n\n\n"


def _block(begin: str, items: Iterable[str], end: str) -> str:
    """Write a display with one item a line."""
    lines = "".join(f"\n        {item}," for item in items)
    return f"{begin}{lines}{chr(10) + ' ' * 4 if lines else ''}{end}"


_WORDS = {
    "wrong-gradient": "returns a wrong gradient",
    "other-effects": "changes what a program prints",
    "input-overwritten": "makes a program overwrite its inputs",
    "output-overwritten": "makes a program overwrite an earlier result",
    "uninitialized-read": "makes a program read memory that nothing has written",
    "second-call-differs": "makes a program give another result when called again",
    "later-call-differs": "makes a program give another result when called again",
    "wrong-shape": "changes the shape of a result",
    "wrong-dtype": "changes the dtype of a result",
    "wrong-structure": "changes the structure of a result",
}


def _tell_numeric(culprit: str, evidence: Evidence) -> Told:
    message = evidence.message
    if evidence.kind == "does-not-build":
        return f"A module does not build after {culprit}: {message}", evidence.expected, message
    if evidence.kind == "run-error":
        return f"A program fails when run after {culprit}: {message}", evidence.expected, message
    if evidence.kind == NOT_AS_DOCUMENTED:
        return f"{message}, lowered by {culprit}", evidence.expected, evidence.observed
    what = _WORDS.get(evidence.kind, "changes the result of a program")
    return f"{culprit} {what}", evidence.expected, evidence.observed or message


# Of a hang: plain relax.build, twice, compiles and links by the C++ compiler, some seconds each.
NUMERIC = ScriptCheck(OracleName.NUMERIC, _build_numeric, _tell_numeric, "a program is built or run", 40.0)
