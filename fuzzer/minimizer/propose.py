"""Candidates of one reduction on one module; runs inside an isolated worker, for type inference may die, too."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.minimizer.emit import emit
from fuzzer.minimizer.messages import Candidate, Facts, Proposal, Request
from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.retype import Invalid
from fuzzer.minimizer.safety import hazards
from fuzzer.minimizer.sketch import bindings_of, take

_MAX_ATTEMPTS = 64  # edits tried in one call, so that a call stays far below its time limit


def propose(request: Request) -> Proposal:
    """The next candidates of a reduction."""
    module = from_json_graph_str(request.module_json)
    found: list[Candidate] = []
    seen = {digest(module)}
    attempts, last = 0, request.start
    for key, edit in REDUCTIONS[request.reduction].edits(take(module)):
        if request.start is not None and (key < request.start or (request.skip_start and key == request.start)):
            continue
        if attempts >= _MAX_ATTEMPTS or len(found) >= request.count:
            return Proposal(tuple(found), last)
        attempts += 1
        last = key
        sketch = edit()
        if sketch is None:
            continue
        try:
            smaller = emit(sketch)
        except Invalid:
            continue
        if request.hazards is not None and not hazards(smaller) <= request.hazards:
            continue
        name = digest(smaller) if not sketch.rename else f"renamed {digest(smaller)}"
        if name not in seen:
            seen.add(name)
            found.append(Candidate(key, str(tvm.ir.save_json(smaller)), name))
    return Proposal(tuple(found), None)


def digest(module: object) -> str:
    """Structural hash of a module, as text."""
    return f"{tvm_ffi.structural_hash(module, map_free_vars=True):x}"


def facts(module_json: str) -> Facts:
    """Size and hazards of a module, and an empty module in the same format."""
    module = from_json_graph_str(module_json)
    return Facts(
        bindings=bindings_of(module),
        functions=len(take(module).relax_functions()),
        hazards=hazards(module),
        empty_json=str(tvm.ir.save_json(tvm.IRModule({}))),
        reductions=tuple((item.name, item.final) for item in REDUCTIONS),
    )
