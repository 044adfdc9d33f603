"""Candidates of one reduction on one module; runs inside an isolated worker, for type inference may die, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.text import first_line
from fuzzer.minimizer.entering import stands
from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.safety import hazards, is_safe
from fuzzer.minimizer.search.messages import STAGE, Key, ProposalRequest, ProposedModules, SmallerModule, StartFacts
from fuzzer.worker.child import breadcrumb
from relaxkit.ir.equality import digest
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import bindings_of, take

_MAX_ATTEMPTS = 64  # edits tried in one call, so that a call stays far below its time limit


def propose(request: ProposalRequest) -> ProposedModules:
    """Return the next candidates of a reduction; leaves the key of each edit as a breadcrumb before it is tried."""
    breadcrumb(STAGE)
    module = from_json_graph_str(request.module_json)
    seen = {digest(module)}
    found: list[SmallerModule] = []
    if request.fold > 1:
        together = _together(module, request)
        if together is not None:
            seen.add(together.digest)
            found.append(together)
    singles, last, invalid = 0, request.start, list[str]()
    for attempts, (key, edited) in enumerate(_edited(module, request, request.start, request.skip_start, invalid)):
        if attempts >= _MAX_ATTEMPTS or singles >= request.count:
            return ProposedModules(tuple(found), last, tuple(invalid))
        last = key
        smaller = edited()
        if smaller is not None and smaller[1] not in seen:
            seen.add(smaller[1])
            singles += 1
            found.append(SmallerModule(key, str(tvm.ir.save_json(smaller[0])), smaller[1]))
    return ProposedModules(tuple(found), None, tuple(invalid))


def _edited(
    module: tvm.IRModule, request: ProposalRequest, start: Key | None, skip_start: bool, invalid: list[str]
) -> Iterator[tuple[Key, Callable[[], tuple[Any, str] | None]]]:
    """Yield the edits from ``start`` on: each gives a smaller module and its digest, or ``None`` without effect."""
    standing = stands(module, request.passes)
    for key, edit in REDUCTIONS[request.reduction].edits(take(module)):
        if start is not None and (key < start or (skip_start and key == start)):
            continue

        def apply(key: Key = key, edit: Callable[[], Any] = edit) -> tuple[Any, str] | None:
            breadcrumb(f"{STAGE}: {' '.join(map(str, key))}")
            sketch = edit()
            if sketch is None:
                return None
            try:
                smaller = emit(sketch)
            except Invalid as error:
                invalid.append(first_line(str(error)))
                return None
            if request.hazards is not None and not is_safe(smaller, request.hazards):
                return None
            if standing and not stands(smaller, request.passes):
                return None
            return smaller, f"renamed {digest(smaller)}" if sketch.rename else digest(smaller)

        yield key, apply


def _together(module: tvm.IRModule, request: ProposalRequest) -> SmallerModule | None:
    """Return the result of accepting the next edits one by one; ``None`` when there are not two."""
    start, skip_start, attempts = request.start, request.skip_start, 0
    current, names = module, [digest(module)]
    while len(names) <= request.fold:
        for key, edited in _edited(current, request, start, skip_start, []):
            attempts += 1
            smaller = edited() if attempts <= _MAX_ATTEMPTS else None
            if smaller is not None and smaller[1] not in names:
                current, start, skip_start = smaller[0], key, False
                names.append(smaller[1])
                break
        else:
            break
    if len(names) < 3 or start is None:
        return None
    return SmallerModule(start, str(tvm.ir.save_json(current)), names[-1])


def facts(module_json: str) -> StartFacts:
    """Size and hazards of a module, and an empty module in the same format."""
    module, empty = from_json_graph_str(module_json), tvm.IRModule({})
    return StartFacts(
        bindings=bindings_of(module),
        functions=len(take(module).relax_functions()),
        hazards=hazards(module),
        empty_json=str(tvm.ir.save_json(empty)),
        reductions=tuple((item.name, item.final) for item in REDUCTIONS),
        digest=digest(module),
        empty_digest=digest(empty),
    )
