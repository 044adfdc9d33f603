"""Two edits of a minimized module that tell what a failure hangs on: other names of functions, numbers for its dims.

A failure that goes away with other names is about a name that is taken, whatever it looks like; one that type inference
of an operator raises, and that goes away with numbers for symbolic dims, is about those dims, whichever operator it is.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import OracleName


class Edit(str, enum.Enum):
    """What is done to a module."""

    NAMES = "names"  # each function gets another name, and keeps how it ends: some passes look for an ending
    NUMBERS = "numbers"  # each symbolic dim is a number

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Trial:
    """What :func:`gone_request` is to judge: an edited case."""

    case: Case
    edit: Edit
    oracles: tuple[OracleName, ...]


def gone_request(trial: Trial) -> bool:
    """Runs in a worker: whether every oracle says ``PASS`` of the edited case; not where the edit does not apply."""
    from fuzzer.isolation import breadcrumb
    from fuzzer.minimizer.judging import Judgement, judge_request
    from oracles.verdict import Outcome

    breadcrumb("traits")
    edited = edited_module(trial.case, trial.edit)
    if edited is None:
        return False
    verdicts = judge_request(Judgement(replace(trial.case, module_json=edited), trial.oracles))
    return bool(verdicts) and all(item.outcome is Outcome.PASS for item in verdicts)


def edited_module(case: Case, edit: Edit) -> str | None:
    """The edited module as JSON; ``None`` where there is nothing to edit, or it would not be the same case."""
    import tvm
    from tvm import relax

    from fuzzer.cases import load_module
    from fuzzer.minimizer.retype import Invalid

    module = load_module(case)
    try:
        other = _with_other_names(module, case) if edit is Edit.NAMES else _with_numbers(module)
    except (Invalid, RuntimeError, TypeError, ValueError):
        return None  # types that do not hold with these numbers
    if other is None or not relax.analysis.check_well_formed(other):
        return None
    return str(tvm.ir.save_json(other))


def _with_other_names(module: Any, case: Case) -> Any | None:
    """Nothing where a lone function has no name to share, or where an argument of a pass names a function."""
    from tvm_ffi.serialization import from_json_graph_str

    from oracles.locality_vary import functions_of, graph_of, with_functions

    given = list(functions_of(module))
    if len(given) < 2 or any(f"{mark}{name}{mark}" in ref.expression for ref in case.passes for name in given
                             for mark in "\"'"):  # fmt: skip
        return None
    names = {name: f"z{index}_{name}" for index, name in enumerate(given)}
    graph = graph_of(module)
    for node in graph["nodes"]:  # the names of public functions are attributes, too
        if node["type"] == "ffi.String" and node["data"] in names:
            node["data"] = names[node["data"]]
    copy = from_json_graph_str(json.dumps(graph))
    return with_functions(copy, list(copy.functions.items()))


def _with_numbers(module: Any) -> Any | None:
    """Dims that calls make equal get one number, that of the callers where they have one."""
    import tvm

    from fuzzer.minimizer.emit import emit
    from fuzzer.minimizer.retype import dtype_of
    from fuzzer.minimizer.sketch import take
    from fuzzer.minimizer.symbols import groups

    sketch = take(module)
    for group in groups(sketch):
        for symbol in group.symbols:
            sketch.retype.symbols[symbol] = tvm.tirx.IntImm(dtype_of(symbol), group.sizes[0])
    return emit(sketch) if sketch.retype.symbols else None
