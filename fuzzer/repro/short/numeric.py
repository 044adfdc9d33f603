"""The numeric oracle in short scripts: build, run, compare; operands as literals."""

from __future__ import annotations

import functools
import json
import math
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.findings.script_parts import Ending
from fuzzer.repro.checks.check import FailingCase, fragments
from fuzzer.repro.checks.documented import LEGALIZE, shown_alone
from fuzzer.repro.checks.numeric import accused_gradient, drawn_entries, entries_of, programs_of, tolerances_of
from fuzzer.repro.literals import argument_source, array_source
from fuzzer.repro.module.builder import Unsayable
from fuzzer.repro.module.format import WIDTH
from fuzzer.repro.short.calls import COMPARED, FILLING, OWN_CALLS, REPEATED, calls, devices, filled, leaf_of, read
from fuzzer.repro.short.scene import AFTER, BEFORE, Scene, Showing, failing
from fuzzer.repro.short.structure import shown
from oracles.calling.gradient import Gradient
from oracles.core.module_facts import apply
from oracles.core.verdict import NOT_AS_DOCUMENTED, Phase
from oracles.gradient.oracle import KIND
from oracles.measure.comparison import is_floating
from oracles.measure.inputs import materialize
from oracles.measure.original import Entry, Original
from oracles.numeric.compare_programs import Candidate
from oracles.semantics.replay import UNINITIALIZED, documentation
from oracles.semantics.single import NAME, SingleCall
from relaxkit.ir.domain import ORDINARY
from relaxkit.ir.edits import with_functions
from relaxkit.ir.functions import private_relax_functions, public_functions, reached_functions
from relaxkit.ir.walk import expressions_in, name_of, operator_of
from relaxkit.passes.contract import NumericPromise, Stage
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import Substitute
from relaxkit.runtime import ExecMode
from relaxkit.runtime.poison import PATTERNS
from relaxkit.runtime.values import ShapeValue

_MINIMAL = """\
def build(module):
    t = relax.transform
    passes = [
        t.RealizeVDevice(), relax.backend.DispatchSampling(), relax.backend.DispatchSortScan(), t.LambdaLift(),
        t.LegalizeOps(), t.ToNonDataflow(), t.RemovePurityChecking(), t.CallTIRRewrite(), t.LowerAllocTensor(),
        t.LowerRuntimeBuiltin(), t.ComputePrimValue(), t.VMShapeLower(), t.AttachGlobalSymbol(),
    ]  # without fusion and memory planning
    with tvm.target.Target("llvm"):
        return relax.build(tvm.transform.Sequential(passes)(module), "llvm", relax_pipeline=None{mode})
"""
_GRAPHS = """\
# A TVM without CUDA lacks what the pass leaves: here memory is kept, and a replay has the arguments of the capture.
invoke, captured = tvm.get_global_func("vm.builtin.invoke_closure"), {}

@tvm.register_global_func("vm.builtin.cuda_graph.get_cached_alloc", override=True)
def get_cached_alloc(vm, function, index):
    if index not in captured:
        captured[index] = invoke(vm, function)
    return captured[index]

@tvm.register_global_func("vm.builtin.cuda_graph.run_or_capture", override=True)
def run_or_capture(vm, function, arguments, index, *dims):
    return invoke(vm, function, *captured.setdefault(("graph", index, *map(tuple, dims)), list(arguments)))
"""
_RUN = """\
def run(module, args):
    vm = relax.VirtualMachine({build}, {device})
    return vm["{function}"]({arguments}){leaf}
"""


def numeric(scene: Scene) -> Iterator[Showing]:
    """Show a program that does not build, does not run, or computes something else."""
    kind, details = scene.kind, scene.failure.evidence.details
    if kind == NOT_AS_DOCUMENTED:
        yield from _documented(scene)
        return
    builds = _builds(scene)
    if kind == "does-not-build" or details.stage in (Phase.BUILD, Phase.BUILD_ORIGINAL):
        yield from _does_not_build(scene, builds)
        return
    original, candidate = _programs(scene.failure)
    if kind == KIND:
        gradient, later, _, arguments = accused_gradient(original, candidate, scene.failure.evidence)
        if later or not all(isinstance(item, np.ndarray) for item in arguments):
            raise Unsayable("differences for arguments that are not tensors, or after another calling convention")
        for definitions, _, after in builds:
            yield from _differences(
                scene, gradient, Entry(gradient.function, None, tuple(arguments)), definitions, after
            )
        return
    entry = _entry(scene.failure, original, candidate)
    if entry is None:
        raise Unsayable("no call of the program shows it")
    adapters = [each for each in candidate.adapters if not isinstance(each, Gradient)]
    for way in builds:
        if adapters or kind in OWN_CALLS:
            exact, path = candidate.promise is NumericPromise.BIT_EXACT, _path(scene)
            others = original.varied(entry, exact) if kind in REPEATED else ()
            leaf = leaf_of(entry.output, path)
            for assertion in [""] if kind in OWN_CALLS else _comparisons(kind, leaf, original, candidate, entry):
                yield calls(scene, entry, others, adapters, way, path, assertion)
        else:
            yield from _calls(scene, original, candidate, entry, *way)


def of_the_machine(scene: Scene) -> Iterator[Showing]:
    """Show a call of a function that the passes have made, in a module of its own, to which no pass is applied."""
    made, message = scene.after.clone(), scene.failure.evidence.message
    for var, kernel in made.functions.items():  # what these compute is not what the machine fails at
        if isinstance(kernel, tvm.tirx.PrimFunc):
            made[var] = kernel.with_body(tvm.tirx.Evaluate(0))
    for called, function in private_relax_functions(made):
        params = [relax.Var(name_of(each), each.ty) for each in function.params]
        builder = relax.BlockBuilder()
        with builder.function(NAME, params):
            builder.emit_func_output(builder.emit(relax.Call(called, params)))
        kept = reached_functions(made, [called.name_hint])
        rest = [(var, each) for var, each in made.functions.items() if var.name_hint in kept]
        alone = with_functions(builder.get(), [*rest, *builder.get().functions.items()])
        entry = Entry(NAME, None, tuple(materialize(alone, NAME, min(ORDINARY))))
        line = f"run({BEFORE}, [{', '.join(_operands(entry))}])"
        for definitions, build, _ in _builds(replace(scene, judged=())):
            helper = "\n\n".join(filter(None, (definitions, _runner(alone, entry, build, ""))))
            yield failing((), line, message, "", fragments(message), definitions=helper, module=alone)


def _path(scene: Scene) -> str:
    numbers = scene.failure.evidence.details.numbers
    return numbers[0] if numbers else "[]"


@functools.lru_cache(maxsize=1)
def _programs(failure: FailingCase) -> tuple[Original, Candidate]:
    return programs_of(failure)


def _entry(failure: FailingCase, original: Original, candidate: Candidate) -> Entry | None:
    """Return the call that shows the failure, the first of its function where several do together."""
    name = failure.evidence.details.entry
    entries = drawn_entries(original) if failure.died else entries_of(original, candidate, failure.evidence)
    return next((entry for entry in entries if entry.symbol == name), entries[0] if entries else None)


def _builds(scene: Scene) -> list[tuple[str, str, str]]:
    """List ways to build: a definition, and how the modules before and after the passes are built."""
    details = scene.failure.evidence.details
    mode = ', exec_mode="compiled"' if details.mode == ExecMode.COMPILED.value else ""
    plain, bare = f'relax.build(module, "llvm"{mode})', f'relax.build(module, "llvm", relax_pipeline=None{mode})'
    graphs = _GRAPHS if any(ref.substitute is Substitute.CUDA_GRAPH for ref in scene.judged) else ""
    minimal, build = "\n".join(filter(None, (graphs, _MINIMAL.format(mode=mode)))), "build(module)"
    ways = [(graphs, plain, plain), (graphs, plain, bare), (minimal, build, build), (minimal, build, bare)]
    if not scene.judged:
        return [ways[0], ways[2]]
    contract = contract_for(scene.judged[-1])
    lowered = contract.composed and contract.gives is Stage.LOWERED
    return [way for way in ways if lowered == (way[2] == bare)]


def _does_not_build(scene: Scene, builds: list[tuple[str, str, str]]) -> Iterator[Showing]:
    message, died = scene.failure.evidence.message, scene.failure.died
    lines = scene.applied() if died else shown(scene)
    # Each way to build once before the next form: few scripts are tried, and a way may build no such module at all.
    forms = [(True, "{}"), (True, "relax.VirtualMachine({}, tvm.cpu())"), (False, "{}")]
    for original, last in forms[2:] if died else forms:
        for definitions, before, after in builds:
            # Before the passes are applied: some write into what they are given.
            fine = [f"{before.replace('module', BEFORE, 1)}  # builds"] if original and scene.judged else []
            built, said = last.format(after.replace("module", scene.subject, 1)), "" if died else message
            yield failing([*fine, *lines], built, said, "", fragments(message), definitions=definitions)


def _calls(
    scene: Scene, original: Original, candidate: Candidate, entry: Entry, definitions: str, before: str, after: str
) -> Iterator[Showing]:
    """Yield what calls both programs on the same operands and compares."""
    evidence, lines, kind = scene.failure.evidence, scene.applied(), scene.kind
    path = _path(scene)
    leaf = leaf_of(entry.output, path)
    reading = "" if kind == "run-error" or scene.failure.died else read(leaf, path)
    build = before if before == after else f"{before} if module is {BEFORE} else {after}"
    helper = _runner(scene.fresh(), entry, build, reading)
    operands = f"args = [{', '.join(_operands(entry))}]"
    preamble = f"{definitions}\n\n{helper}" if definitions else helper
    again, now = f"run({BEFORE}, args)", f"run({scene.subject}, args)"
    if scene.failure.died:
        yield Showing((*lines, operands, now), Ending(), preamble)
        return
    if kind == "run-error":
        acts = (*lines, operands, f"{again}  # runs")
        yield failing(acts, now, evidence.message, "", fragments(evidence.message), definitions=preamble)
    elif kind == "wrong-value" or kind in COMPARED:
        for assertion in _comparisons(kind, leaf, original, candidate, entry):
            yield failing((*lines, operands), assertion.format(now, again), scene.seen, definitions=preamble)
    else:
        raise Unsayable(f"{kind} needs several calls of one program")


def _runner(module: Any, entry: Entry, build: str, leaf: str) -> str:
    called = _given(entry, "args")
    return _RUN.format(build=build, device=devices(module), function=entry.symbol, arguments=called, leaf=leaf)


def _has_arrays_alone(entry: Entry) -> bool:
    return all(isinstance(item, np.ndarray) for item in entry.arguments)


def _operands(entry: Entry) -> list[str]:
    return [*map(array_source if _has_arrays_alone(entry) else argument_source, entry.arguments)]


def _given(entry: Entry, operands: str) -> str:
    """Write operands as a call has them."""
    return f"*map(tvm.runtime.tensor, {operands})" if _has_arrays_alone(entry) else f"*{operands}"


def _comparisons(kind: str, leaf: Any, original: Original, candidate: Candidate, entry: Entry) -> Iterator[str]:
    """Yield templates of the assertion, the ones that allow for rounding first."""
    if kind in COMPARED:
        yield COMPARED[kind]
        return
    if isinstance(leaf, ShapeValue):
        yield "assert list({0}) == list({1})"
        return
    if isinstance(leaf, np.ndarray) and is_floating(leaf.dtype):
        allowed = max((_rounded(each) for _, _, each in tolerances_of(original, candidate, [entry])), default=0.0)
        absolute = f", atol={allowed:g}" if allowed else ""
        relative = 1e-5 if leaf.dtype.name in ("float32", "float64") else 1e-2
        yield f"np.testing.assert_allclose({{0}}, {{1}}, rtol={relative:g}{absolute})"
        if absolute:
            yield f"np.testing.assert_allclose({{0}}, {{1}}, rtol={relative:g})"
    yield "np.testing.assert_array_equal({0}, {1})"


def _documented(scene: Scene) -> Iterator[Showing]:
    """Show the call alone that is lowered to something else than is documented, and what it should give."""
    found = shown_alone(scene.failure.case, scene.failure.verdict)
    if found is None:
        raise Unsayable("no call is seen to give a different result than documented")
    path = scene.failure.evidence.details.numbers[0]
    leaf = leaf_of(found.expectation.value, path)
    if not isinstance(leaf, np.ndarray):
        raise Unsayable("what is documented is not a tensor")
    said = f"# The documentation of TVM says: {documentation(found.call)}"
    expected = [*textwrap.wrap(said, WIDTH, subsequent_indent="# ", max_lines=3), f"expected = {array_source(leaf)}"]
    (name,) = public_functions(found.call.module)
    entry = Entry(name, None, tuple(found.call.arguments))
    if found.what == UNINITIALIZED:
        helper, more, observed = _filled(found.call, entry, read(leaf, path))
        expected, seen = [*expected, *more], "nothing has been written there"
    else:
        helper = _runner(found.call.module, entry, 'relax.build(module, "llvm")', read(leaf, path))
        observed, seen = "run(After, args)", scene.seen
    lines = (f"After = {LEGALIZE}(Before)", f"args = [{', '.join(_operands(entry))}]", *expected)
    assertions = [f"np.testing.assert_array_equal({observed}, expected)"]
    if is_floating(leaf.dtype):
        granted = found.expectation.tolerances.get(tuple(json.loads(path)), np.zeros(1))
        assertions = [f"np.testing.assert_allclose({observed}, expected, {each})" for each in _within(granted, leaf)]
    again = (*lines, f"{observed}  # what it leaves in memory, the next call may read")
    for acts in (lines, again):
        for assertion in assertions:
            yield failing(acts, assertion, seen, definitions=helper, module=found.call.module)


def _filled(call: SingleCall, entry: Entry, reading: str) -> tuple[str, list[str], str]:
    """Write how a call runs in memory that is filled: only so a script fails each time.

    Returns:
        What must be defined, what is done, and what gives the result: of the kernel alone, where there is but one.
    """
    lowered: Any = apply(relax.transform.LegalizeOps(), call.module).module
    made = [each.args for each in expressions_in(lowered) if operator_of(each) == "relax.call_tir"]
    numbers = {param: number for number, param in enumerate(lowered[NAME].params)}
    operands = [*made[0][1].fields, *made[0][2:]] if len(made) == 1 else [None]
    if not {*operands} <= {*numbers}:
        machine = f'vm = relax.VirtualMachine(relax.build({AFTER}, "llvm"), {devices(lowered)})'
        called = f'vm["{entry.symbol}"]({_given(entry, "args")}){reading}'
        return FILLING, [machine, filled(PATTERNS[0])], called
    kernel, order = made[0][0].name_hint, [numbers[each] for each in operands]
    given = "args" if order == [*range(len(numbers))] else f"[{', '.join(f'args[{each}]' for each in order)}]"
    lines = [
        f'kernel = tvm.compile(After["{kernel}"].with_attr("global_symbol", "{kernel}"), "llvm")["{kernel}"]',
        "out = tvm.runtime.tensor(np.full_like(expected, 7))  # what happens to be in memory",
        f"kernel({_given(entry, given)}, out)",
    ]
    return "", lines, "out.numpy()"


def _within(tolerances: Any, expected: Any) -> Iterator[str]:
    """Yield what grants each element at least its tolerance: to all the largest one, or in proportion to its value."""
    yield f"rtol=0, atol={_rounded(tolerances) or 1e-6:g}"
    sizes = np.abs(expected.astype("float64"))
    with np.errstate(all="ignore"):
        relative = _rounded(np.where(sizes > 0, tolerances / sizes, 0.0))
    yield f"rtol={relative:g}, atol={_rounded(np.where(sizes > 0, 0.0, tolerances)):g}"


def _rounded(tolerances: Any) -> float:
    """Return the largest tolerance, rounded up to one digit; 0 for none."""
    largest = float(np.max(tolerances, initial=0.0, where=np.isfinite(tolerances)))
    if largest <= 0:
        return 0.0
    digit = 10.0 ** math.floor(math.log10(largest))
    return math.ceil(largest / digit) * digit


def _differences(scene: Scene, gradient: Gradient, entry: Entry, definitions: str, build: str) -> Iterator[Showing]:
    """Show that an adjoint disagrees with central differences of the function itself."""
    called = "*map(tvm.runtime.tensor, args)"
    target = "".join(f"[{index}]" for index in gradient.target)
    helper = f"vm = relax.VirtualMachine({build.replace('module', AFTER, 1)}, tvm.cpu())"
    operands = f"args = [{', '.join(_operands(entry))}]"
    lines = [*scene.applied(), helper, operands, f'gradients = vm["{gradient.adjoint}"]({called})[1]']
    for number, parameter in enumerate(gradient.parameters):
        if not is_floating(entry.arguments[parameter].dtype):
            continue
        for kind in ("wrong-shape", "wrong-dtype"):
            alike = COMPARED[kind].format(f"gradients[{number}].numpy()", f"args[{parameter}]")
            yield failing(lines, alike, scene.seen, definitions=definitions)
        loop = [
            f"numeric = np.zeros_like(args[{parameter}])",
            "for place in np.ndindex(numeric.shape):  # central differences",
            "    ends = []",
            "    for step in (1e-2, -1e-2):",
            f"        args[{parameter}][place] += step",
            f'        ends.append(vm["{gradient.function}"]({called}){target}.numpy())',
            f"        args[{parameter}][place] -= step",
            "    numeric[place] = (ends[0] - ends[1]) / 2e-2",
        ]
        line = f"np.testing.assert_allclose(gradients[{number}].numpy(), numeric, rtol=0.05, atol=0.05)"
        yield failing((*lines, *loop), line, scene.seen, definitions=definitions)
