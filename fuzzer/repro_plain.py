"""The numeric oracle's part of a script in its short form, for what most numeric failures are.

The long form (``fuzzer.repro_numeric``) judges exactly as the oracle does: it knows how callers must change, closures,
effects, repeated calls, memory, a tolerance for each element.  The short one is enough where nothing of that is at
stake; whether it is, is found out by asking it, before the script is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm_ffi.serialization import from_json_graph_str

from fuzzer.repro_ends import is_death
from fuzzer.repro_format import wrapped
from fuzzer.repro_pieces import plain
from oracles.contract import NumericPromise
from oracles.execution import cxx_available
from oracles.passref import CODEGEN_PASS, CUDA_GRAPH_PASS
from oracles.tolerance import unit_of

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.examination import Candidate
    from oracles.original import Entry, Original
    from oracles.verdict import Evidence

PLAIN_PIECES = (
    "oracles/execution/values.py",
    "oracles/execution/lowering.py",
    "oracles/execution/refusal.py",
    "oracles/execution/run.py",
    "fuzzer/repro_pieces/plain.py",
)
_RESULTS = ("run-error", "wrong-value", "wrong-shape", "wrong-dtype", "wrong-structure")
_MOST_INPUTS = 4


def plain_parts(
    case: Case,
    evidence: Evidence,
    original: Original,
    candidate: Candidate,
    entries: list[Entry],
    fragments: list[str],
    mode: str,
) -> tuple[str, str] | None:
    """The call and what stands in front of it; ``None`` where only the long form shows the failure.

    Args:
        case: The case.
        evidence: Of its failing verdict.
        original: The program before the passes.
        candidate: The module after them.
        entries: What is called.
        fragments: Parts of the error's message that is expected.
        mode: How programs are executed.
    """
    if any(ref.name in (CODEGEN_PASS, CUDA_GRAPH_PASS) for ref in case.passes):
        return None
    if is_death(evidence):
        return _deadly(evidence, candidate, entries, mode)
    if not cxx_available():
        return None
    before, after = _copy(original.module), _copy(candidate.module)
    if evidence.kind == "does-not-build":
        arguments: tuple[Any, ...] = (fragments, mode, candidate.lowered)
        shown = _asked(plain.builds, before, after, *arguments)
        return (f"check_builds(module, passes, {_listed(arguments)})", "") if shown else None
    if evidence.kind not in _RESULTS or candidate.adapters or not 0 < len(entries) <= _MOST_INPUTS:
        return None
    inputs = [(entry.symbol, entry.arguments) for entry in entries]
    arguments = (evidence.kind, fragments, mode, candidate.lowered, _tolerance(original, candidate, entries))
    if not _asked(plain.returns, before, after, inputs, *arguments):
        return None
    return f"check_results(module, passes, inputs(), {_listed(arguments)})", _inputs(entries)


def _deadly(evidence: Evidence, candidate: Candidate, entries: list[Entry], mode: str) -> tuple[str, str] | None:
    """As :func:`plain_parts`, of a program that ends its process: it cannot be asked."""
    if "numeric build" in evidence.message:
        return f"check_builds(module, passes, {_listed(([], mode, candidate.lowered))})", ""
    if candidate.adapters or not entries:
        return None
    arguments = _listed((evidence.kind, [], mode, candidate.lowered, 0.0))
    return f"check_results(module, passes, inputs(), {arguments})", _inputs(entries)


def _asked(judge: Any, *arguments: Any) -> bool:
    try:
        outcome, _ = judge(*arguments)
    except Exception:
        return False
    return bool(outcome == "BUG")


def _listed(arguments: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, arguments))


def _copy(module: Any) -> Any:
    import tvm

    return from_json_graph_str(str(tvm.ir.save_json(module)))


def _tolerance(original: Original, candidate: Candidate, entries: list[Entry]) -> float:
    """The largest tolerance of any element: a failure that is well above it needs no table of tolerances."""
    from fuzzer.repro_numeric import leaves_of

    if candidate.promise is NumericPromise.BIT_EXACT:
        return 0.0
    found = [0.0]
    for entry in entries:
        measured = original.measured(entry, unit_of(candidate.promise, original.float_dtypes))
        if measured is not None:
            for path, array in leaves_of(entry.output):
                found.append(float(measured.tolerance(path, array, array).max(initial=0.0)))
    return max(found)


def _inputs(entries: list[Entry]) -> str:
    from fuzzer.repro_numeric import literal

    rows = []
    for entry in entries:
        arguments = "".join(f"{literal(item)}, " for item in entry.arguments).removesuffix(" ")
        rows.append(f"        ({entry.symbol!r}, ({arguments})),\n")
    text = f'def inputs():\n    """Functions to call, and their arguments."""\n    return [\n{"".join(rows)}    ]\n'
    return wrapped(text) + "\n"
