"""Calls of programs in short scripts that one line cannot say: other calling conventions, several calls, effects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fuzzer.findings.script_parts import Ending
from fuzzer.repro.checks.check import fragments
from fuzzer.repro.literals import argument_source
from fuzzer.repro.module.builder import Unsayable
from fuzzer.repro.short.scene import BEFORE, Scene, Showing, commented, failing
from fuzzer.repro.short.structure import shown
from oracles.calling.frame import Adapter
from oracles.calling.lazy import SUFFIX, LazyGetInput, LazySetOutput, LazyTransformParams
from oracles.calling.parameters import BindParams, BundleModelParams, CastParams, LiftTransformParams
from oracles.measure.comparison import is_floating
from oracles.measure.original import Entry
from relaxkit.ir.operator_facts import device_index
from relaxkit.ir.walk import expressions_in, operator_of
from relaxkit.runtime.poison import PATTERNS
from relaxkit.runtime.values import ShapeValue

REPEATED = frozenset({"output-overwritten", "second-call-differs", "later-call-differs", "input-overwritten"})
_MACHINE = "\n\n"
"""Behind what is done before the virtual machine is made."""
EFFECTS = frozenset({"other-effects"})
UNINITIALIZED_READ = "uninitialized-read"
OWN_CALLS = REPEATED | EFFECTS | {UNINITIALIZED_READ}
"""What is shown by calls of its own, and not by a comparison of two programs."""
FILLING = '''\
def filling(byte):
    """Fill what a program allocates: what happens to be in memory is then the same each time."""
    def fill(function, name, before, result, *arguments):  # around each call that the machine makes
        if name == "vm.builtin.alloc_storage" and not before:
            whole = tvm.get_global_func("vm.builtin.alloc_tensor")(result, 0, arguments[1], "uint8")
            np.from_dlpack(whole).fill(byte)
        elif name == "vm.builtin.alloc_shape_heap" and not before:
            np.from_dlpack(result).view("uint8").fill(byte)
        return 0
    return fill
'''
"""An instrument of the machine that fills what a program allocates, as ``relaxkit.runtime.poison`` does."""
COMPARED = {
    "wrong-shape": "assert {0}.shape == {1}.shape",
    "wrong-dtype": "assert {0}.dtype == {1}.dtype",
    "wrong-structure": "assert len({0}) == len({1})",
}
"""Templates of the assertion on two results that differ in more than their values."""

Way = tuple[str, str, str]
"""How programs are built: a definition, and the expressions for ``module`` before and after the passes."""


def calls(
    scene: Scene,
    entry: Entry,
    others: Iterable[Entry],
    adapters: Sequence[Adapter],
    way: Way,
    path: str,
    assertion: str,
) -> Showing:
    """Write calls of two programs, and the assertion on what they give; raises ``Unsayable`` where that is not short.

    Args:
        scene: The scene.
        entry: What is called.
        others: Other inputs of the same function.
        adapters: How callers must change for what the passes do.
        way: How the programs are built.
        path: The place in the result.
        assertion: A template of the comparison of both results.
    """
    definitions, before, after = way
    loads = [f"relax.VirtualMachine({build}, {devices(scene.fresh())})" for build in (before, after)]
    loads = [load.replace("module", name, 1) for load, name in zip(loads, (BEFORE, scene.subject), strict=True)]
    applied = shown(scene) if scene.kind == UNINITIALIZED_READ else scene.applied()
    lines = [*applied, f"args = [{', '.join(map(argument_source, entry.arguments))}]"]
    evidence, kind = scene.failure.evidence, scene.kind
    reading = read(leaf_of(entry.output, path), path)
    called = f'vm["{entry.symbol}"]'
    if kind in REPEATED:
        lines.append(f"vm = {loads[1]}")
        last, more = _again(kind, called, path, reading, others)
        lines += more
        return failing(lines, last, scene.seen, definitions=definitions)
    if kind in EFFECTS:
        run = f"def printed(module):\n    vm = relax.VirtualMachine({before}, {devices(scene.fresh())})\n"
        run += f"    with contextlib.redirect_stdout(io.StringIO()) as text:\n        {called}(*args)\n"
        definitions += ("\n\n" if definitions else "") + f"{run}    return text.getvalue()\n"
        return failing(lines, f"assert printed({scene.subject}) == printed({BEFORE})", definitions=definitions)
    if kind == UNINITIALIZED_READ:
        return _in_filled_memory(scene, lines, loads[1], _adapted(entry, adapters, called), reading, definitions)
    plain = f'{loads[0]}["{entry.symbol}"](*args)'
    lines.append(f"{plain}  # runs" if kind == "run-error" else f"before = {plain}{reading}")
    first, _, adapted = _adapted(entry, adapters, called).rpartition(_MACHINE)
    lines += [*first.splitlines(), f"vm = {loads[1]}"]
    if kind == "run-error":
        *steps, last = adapted.splitlines()
        last = last.removeprefix("after = ")
        acts = (*lines, *steps, *commented(last, evidence.message))
        return Showing(acts, Ending("", tuple(fragments(evidence.message)), len(lines)), definitions)
    if kind not in ("wrong-value", *COMPARED):
        raise Unsayable(f"{kind} behind another calling convention")
    lines += (adapted + reading).splitlines()
    return failing(lines, assertion.format("after", "before"), scene.seen, definitions=definitions)


def _in_filled_memory(
    scene: Scene, lines: list[str], load: str, adapted: str, reading: str, definitions: str
) -> Showing:
    """Write a call in memory in which each byte is one value: it raises, or gives something else than with another."""
    evidence = scene.failure.evidence
    definitions = "\n\n".join(filter(None, (definitions, FILLING)))
    first, _, call = adapted.rpartition(_MACHINE)
    *steps, last = call.splitlines()
    lines = [*lines, *first.splitlines(), f"vm = {load}", filled(PATTERNS[0]), *steps]
    if error := evidence.details.error:
        said = error.split(": ", 1)[-1]
        last = last.removeprefix("after = ")
        return failing(lines, last, said, error.split(":", 1)[0], fragments(said), definitions=definitions)
    again = [f"{last}{reading}", "first = after.copy()", filled(PATTERNS[1]), *steps, f"{last}{reading}"]
    assertion = "np.testing.assert_array_equal(after, first)"
    return failing([*lines, *again], assertion, scene.seen, definitions=definitions)


def _again(kind: str, called: str, path: str, reading: str, others: Iterable[Entry]) -> tuple[str, list[str]]:
    """Return the assertion on several calls, and the calls."""
    if kind == "input-overwritten":
        place = "".join(f"[{index}]" for index in json.loads(path))
        return f"np.testing.assert_array_equal(args{place}.numpy(), kept)", [
            f"kept = args{place}.numpy().copy()", f"{called}(*args)"
        ]  # fmt: skip
    first = [f"first = {called}(*args){reading.replace('.numpy()', '')}", "kept = first.numpy().copy()"]
    if kind == "second-call-differs":
        first = [f"first = {called}(*args){reading}.copy()"]
        return f"np.testing.assert_array_equal({called}(*args){reading}, first)", first
    between = [f"{called}({', '.join(map(argument_source, other.arguments))})" for other in others]
    if kind == "output-overwritten":
        return "np.testing.assert_array_equal(first.numpy(), kept)", [*first, *between]
    return f"np.testing.assert_array_equal({called}(*args){reading}, kept)", [*first, *between]


def _adapted(entry: Entry, adapters: Sequence[Adapter], called: str) -> str:
    """Write the call by the convention behind the passes; raises ``Unsayable`` for one that is not short."""
    if not adapters:
        return f"after = {called}(*args)"
    if len(adapters) != 1:
        raise Unsayable("several changes of the calling convention")
    (adapter,) = adapters
    write = _CONVENTIONS.get(type(adapter))
    if write is None:
        raise Unsayable("a calling convention that needs more than a line")
    return write(adapter, entry, called)


def _lifted(adapter: Any, entry: Entry, called: str) -> str:
    number = _inputs(entry)
    name = "transform_params" if adapter.shared is True else f"{entry.symbol}_transform_params"
    return f'after = {called}(*args[:{number}], *vm["{name}"](args[{number}:]))'


def _set_lazily(adapter: Any, entry: Entry, called: str) -> str:
    number = len(entry.arguments) if entry.num_input is None else entry.num_input
    arity = adapter.arity.get(entry.symbol)
    result = "outputs[0]" if arity is None else f"[outputs[index] for index in range({arity})]"
    store = "lambda index, value: outputs.update({index: value})"
    return f"outputs = {{}}\n{called}(*args[:{number}], {store}, *args[{number}:])\nafter = {result}"


def _transformed(adapter: Any, entry: Entry, called: str) -> str:
    inputs = entry.num_input or 0
    items = entry.arguments[inputs:]
    symbolic = any(isinstance(each, (int, ShapeValue)) for each in items)
    if not entry.symbol.endswith(SUFFIX) or symbolic or adapter.extra_get or adapter.extra_set:
        raise Unsayable("a function that is called with more than its weights")
    weight = (
        f"args[{inputs}][index]"
        if len(items) == 1 and isinstance(items[0], tuple)
        else f"args[{f'{inputs} + ' if inputs else ''}index]"
    )
    given = f"*args[:{inputs}]" if inputs else ""
    register = "tvm.register_global_func({!r}, {}, override=True)".format
    lines = [register(adapter.get_item, f"lambda index: {weight}")]
    if adapter.set_item is None:
        return f"{lines[0]}{_MACHINE}after = {called}({given})"
    lines += ["outputs = {}", register(adapter.set_item, "lambda index, value: outputs.update({index: value})")]
    return "\n".join(lines).replace("'", '"') + (
        f"{_MACHINE}{called}({given})\nafter = [outputs.get(index) for index in range(len(outputs))]\n"
        'if None in after:\n    raise RuntimeError(f"output {after.index(None)} was never set")'
    )


def _bound(adapter: Any, entry: Entry, called: str) -> str:
    kept = ", ".join(f"args[{index}]" for index in range(len(entry.arguments)) if index not in adapter.positions)
    return f"after = {called}({kept})"


def _cast(adapter: Any, entry: Entry, called: str) -> str:
    given = [f"args[{index}]" for index in range(len(entry.arguments))]
    for index, dtype in enumerate(adapter.dtypes.get(entry.symbol, ())):
        if isinstance(dtype, tuple):
            raise Unsayable("a tuple whose tensors may take other dtypes")
        if dtype not in (None, str(getattr(entry.arguments[index], "dtype", dtype))):
            given[index] = f'tvm.runtime.tensor(args[{index}].numpy().astype("{dtype}"))'
    return f"after = {called}({', '.join(given)})"


_CONVENTIONS: dict[type, Callable[[Any, Entry, str], str]] = {
    CastParams: _cast,
    LiftTransformParams: _lifted,
    BundleModelParams: lambda _, entry, called: "after = {0}(*args[:{1}], args[{1}:])".format(called, _inputs(entry)),
    LazyGetInput: lambda _, entry, called: (
        f"after = {called}({'*args[:{0}], ' if entry.num_input else ''}"
        f"lambda index, name: args[{'{0} + ' if entry.num_input else ''}index])"
    ).format(entry.num_input),
    LazySetOutput: _set_lazily,
    BindParams: _bound,
    LazyTransformParams: _transformed,
}
"""How a function is called behind a pass that changes how it is called."""


def _inputs(entry: Entry) -> int:
    if entry.num_input is None:
        raise Unsayable("a function whose parameters cannot be distinguished")
    return entry.num_input


def filled(byte: int) -> str:
    """Write the line from which on a machine fills what it allocates."""
    return f"vm.set_instrument(filling(0x{byte:02X}))  # what happens to be in memory"


def devices(module: Any) -> str:
    """Write the devices that a machine for a module needs: more than one where the module places values."""
    placed = module.global_infos or any(map(device_index, filter(operator_of, expressions_in(module))))
    return "[tvm.cpu(number) for number in range(4)]" if placed else "tvm.cpu()"


def read(leaf: Any, path: str) -> str:
    """Write how a result is read: the place in its tuples, and what it is there."""
    place = "".join(f"[{index}]" for index in json.loads(path or "[]"))
    if isinstance(leaf, np.ndarray):
        exotic = is_floating(leaf.dtype) and leaf.dtype.kind != "f"
        return f"{place}.numpy()" + ('.astype("float32")' if exotic else "")
    return place


def leaf_of(output: Any, path: str) -> Any:
    """Return what stands at a place in nested tuples; ``None`` where nothing does."""
    for index in json.loads(path or "[]"):
        output = output[index] if isinstance(output, tuple) and index < len(output) else None
    return output
