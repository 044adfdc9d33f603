"""Who is at fault: the pass that was judged, one inside of it or behind it, or a part of TVM that is no pass.

Where a module does not build or run, the first pass behind the judged one that raises on a well-formed module, or makes
an ill-formed one of it, is at fault; it may be a pass of TIR, on a kernel.  Where a pass raises or gives an ill-formed
module, a pass that runs inside of it is at fault if it does the same by itself; and type inference is if rebuilding the
module, with the types that were asked for, is all that it takes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard

from fuzzer.core.case import Case, load_module
from fuzzer.findings.assessment import Blame, Culprit
from fuzzer.findings.family import symptom_of_verdict
from fuzzer.findings.signature import normalise
from fuzzer.minimizer.judge.judge import judge_request
from fuzzer.triage.traits import ELEMENTARY
from fuzzer.worker.child import breadcrumb
from oracles.core.applicability import refusal_of
from oracles.core.blame import PassTrace, first_writer, first_wrong, names_inside
from oracles.core.evidence import evidence_of, is_out_of_memory, unbuildable
from oracles.core.function_signatures import changed_signature, mistyped_call
from oracles.core.module_facts import apply, complaint, reloads
from oracles.core.subject import Subject
from oracles.core.verdict import NOT_AS_DOCUMENTED, Evidence, Notation, Verdict
from oracles.gradient.oracle import KIND as WRONG_GRADIENT
from oracles.measure.input_variations import Variation
from oracles.numeric.oracle import undocumented
from oracles.semantics.replay import FLOAT8
from oracles.semantics.single import NAME
from oracles.structural.postcondition import arguments
from oracles.structural.well_formed import has_unlisted_device
from relaxkit.ir.call_types import stale_call
from relaxkit.ir.functions import relax_functions, relax_items
from relaxkit.ir.lowered import is_lowered
from relaxkit.ir.operator_facts import GRADIENTS, LAYOUTS
from relaxkit.ir.types import dims_of, flat, static_dims
from relaxkit.ir.walk import expressions, expressions_in, is_constant, nodes, operator_has, operator_of, places
from relaxkit.passes.arguments import NotLiteral
from relaxkit.passes.contract import Circumstance, Hook, OracleName, Trait
from relaxkit.passes.contracts import CONTRACTS, the_pass
from relaxkit.passes.plan import preparing
from relaxkit.runtime.compile.kernels import Checks, compile_object
from relaxkit.runtime.compile.lowering import erase_markers, halves, keep_closure_types
from relaxkit.runtime.run import session
from relaxkit.runtime.values import from_tvm, to_tvm

_UNBUILT = frozenset({"does-not-build", "run-error"})
_OTHERWISE = frozenset({"not-done", "wrong-value", WRONG_GRADIENT})
_SIGNATURE = "signature"
_DECLARED = frozenset({_SIGNATURE, "mistyped-call"})
"""What a lowering of another type makes of a public function, and of a private one that is called."""
_OF_TYPES = frozenset({"ill-formed", "contradicted-type", _SIGNATURE})
_CONTRADICTION = relax.analysis.BaseCheckResult.FAIL_L0
_ONCE_MORE = frozenset({"second-call-differs", "later-call-differs"})
_CAST = "relax.astype"
_IN_PLACE = "relax.call_tir_inplace"
_NO_DTYPE = ("None", "", "void")
_OF_SHAPES = "heap_data["
_OF_REGISTERS = ("VirtualMachineImpl::WriteRegister", "VirtualMachineImpl::ReadRegister")
_Step = tuple[str, Callable[[Any], Any]]
"""Its name, empty for one of our own, and the pass."""


def blame_request(case: Case, verdict: Verdict, elementary: str) -> Blame:
    """Return, in a worker, who is at fault; the judged pass where nothing speaks for another.

    Args:
        case: The minimized case.
        verdict: Its verdict.
        elementary: The most elementary pass at which the failure shows (``fuzzer.triage.traits``).
    """
    breadcrumb("traits")
    evidence = verdict.shown
    subject = Subject(load_module(case), case.passes, input_seed=case.input_seed)
    found, index = None, _step_of(subject, verdict.culprit)
    if evidence.frames and evidence.frames[0].endswith(_OF_REGISTERS):
        found = Blame(
            str(Culprit.MACHINE), "registers are named by the virtual machine's code generator, not by modules"
        )
    elif evidence.kind in _UNBUILT and _loses_devices(subject, index):
        pass  # nobody behind it need survive that; TVM's checker does not look
    elif evidence.kind in _UNBUILT:
        made = [subject.module, *(each.module for each in subject.chain)][0 if index is None else index + 1 :][:1]
        found = _behind(subject, index, evidence)
        if found is None and made and made[0] is not None:
            found = of_operators(made[0], evidence)
        if found is None and index is not None:
            found = _inside(subject, index, elementary, evidence) or _left(subject, index, evidence)
    elif evidence.kind == "uninitialized-read" and _OF_SHAPES in evidence.details.error:
        reason = "what it makes is all that writes and reads values of symbolic dims"
        found = Blame(the_pass(Trait.FORGETS_SHAPES), reason)
    elif evidence.kind in _ONCE_MORE:
        found = _overwriting(subject.output.module)
    elif (evidence.details.entry, evidence.details.operator) == (_CAST, FLOAT8):
        found = Blame(str(Culprit.FLOAT8), "a cast by itself shows it")
    elif evidence.details.variation == Variation.NO_ELEMENTS.value and begins_in_a_loop(subject.output.module):
        found = Blame(
            str(Culprit.REDUCTIONS),
            "it has a reduction initialized in the first iteration of its loop, of which there is none over a dim of 0",
        )
    elif evidence.kind == NOT_AS_DOCUMENTED:
        found = _generator(subject) or Blame(
            f"{Culprit.LOWERING} of {evidence.details.operator}", "a call of it by itself gives another result"
        )
    elif evidence.kind == WRONG_GRADIENT and evidence.details.operator.startswith("relax."):
        reason = "the gradient of a call of it by itself is wrong"
        found = Blame(f"{evidence.details.operator} (its {GRADIENTS})", reason)
    elif index is None:
        pass
    elif evidence.kind == "mutated" or evidence.details.circumstance == Circumstance.IMMUTABLE.value:
        found = _writer(subject, index)
    elif evidence.kind in _OTHERWISE and (hooked := _hook(subject, index)) is not None:
        found = hooked
    elif verdict.oracle is not OracleName.NUMERIC:
        crash = verdict.oracle is OracleName.CRASH
        found = (_spoiler(subject, index) if crash else None) or _inside(subject, index, elementary, evidence)
        again = verdict.oracle is OracleName.IDEMPOTENCE
        given = subject.chain[index].module if again else subject.input_of(index)
        found = found or _in_hook(subject, index, given, evidence) or _inference(subject, index, evidence)
        placed = crash and symptom_of_verdict(verdict).place != ""
        lowers = Trait.LOWERS_OPERATORS in subject.plan.steps[index].contract.traits
        if found is None and (placed or (lowers and evidence.kind in _DECLARED)):
            found = of_operators(subject.input_of(index), evidence)
        if found is None and crash:
            found = _hook(subject, index)
        found = found or _inference_of_others(subject, index, evidence)  # last: some of it kills the process
    return found if found is not None and found.name != verdict.culprit else Blame(verdict.culprit)


def _loses_devices(subject: Subject, index: int | None) -> bool:
    """Say whether a step leaves types that name a device which its output does not list, as its input did."""
    if index is None or (made := subject.chain[index].module) is None:
        return False
    return has_unlisted_device(made) and not has_unlisted_device(subject.input_of(index))


def begins_in_a_loop(module: Any) -> bool:
    """Say whether a kernel has a value to begin with for what it reduces along a symbolic dim."""
    functions = [] if module is None else [*module.functions.values()]
    bodies = [each.body for each in functions if isinstance(each, tvm.tirx.PrimFunc)]
    begun = [block for body in bodies for block in nodes(body, tvm.s_tir.SBlock)[0] if block.init is not None]
    reduced = [var for block in begun for var in block.iter_vars if var.iter_type == tvm.tirx.IterVar.CommReduce]
    return any(not isinstance(var.dom.extent, tvm.tirx.IntImm) for var in reduced)


def _step_of(subject: Subject, name: str) -> int | None:
    """Return the number of the step that is a pass, or runs it."""
    steps = list(enumerate(subject.plan.steps))
    named = [index for index, step in steps if step.ref.name == name]
    return next(iter([*named, *(index for index, step in steps if step.contract.composed)]), None)


# Behind the judged pass.


def _behind(subject: Subject, index: int | None, evidence: Evidence) -> Blame | None:
    """Find the pass of the lowering that is at fault for what does not build or run."""
    if subject.facts is None or subject.output.error is not None:
        return None
    found, lowered = first_at_fault(*_rest(subject, index))
    built = evidence.kind == "does-not-build" and found is None and lowered is not None
    return of_kernels(lowered, evidence) if built else found


def _rest(subject: Subject, index: int | None) -> tuple[Any, list[_Step]]:
    """Return what a step gives, and the steps behind it."""
    module = subject.module if index is None else subject.chain[index].module
    rest = range(0 if index is None else index + 1, len(subject.chain))
    steps: list[_Step] = [(subject.plan.steps[number].ref.name, subject.built(number)) for number in rest]
    return module, steps if is_lowered(subject.output.module) else steps + _lowering()


def behind(case: Case, verdict: Verdict, blame: str) -> tuple[Case, Verdict] | None:
    """Return, in a worker, the case of a pass behind the judged one alone, and how it fails there; if it does so."""
    breadcrumb("traits")
    subject = Subject(load_module(case), case.passes, input_seed=case.input_seed)
    if blame not in CONTRACTS or subject.facts is None or subject.output.error is not None:
        return None
    module, steps = _rest(subject, _step_of(subject, verdict.culprit))
    for _, run in itertools.takewhile(lambda step: step[0] != blame, steps):
        module = apply(run, module).module
    alone = Case(str(tvm.ir.save_json(module)), (preparing(blame),), case.input_seed)
    failed = (each for each in judge_request(alone, (OracleName.CRASH, OracleName.WELL_FORMED)) if each.evidence)
    return next(((alone, each) for each in failed if each.culprit == blame), None)


def _lowering() -> list[_Step]:
    """List the steps of the reference pipeline (``relaxkit.runtime.compile.lowering``)."""
    named = [[(str(each.info.name), each) for each in half] for half in halves()]
    return [("", erase_markers), *named[0], ("", keep_closure_types), *named[1]]


def first_at_fault(module: Any, steps: list[_Step]) -> tuple[Blame | None, Any]:
    """Run passes one after the other; return the first at fault, and else what they give.

    At fault is the first that raises on a well-formed module, or makes an ill-formed one of it.  Where the module was
    ill-formed before all of them, or one refuses it as its contract says, nobody here is; then no module is returned.
    """
    if _unsound(module):
        return None, None
    seen: list[tuple[str, Any]] = [("", module)]
    for name, run in steps:
        result = apply(run, module)
        if result.error is not None:
            contract = CONTRACTS.get(name)
            if not name or (contract is not None and refusal_of(result.error, contract.refusals) is not None):
                return None, None
            if contract is not None and Trait.LEGALIZES in contract.traits:
                # A call that the judged pass has made has no meaning, or its lowering is wrong: `of_operators` asks.
                return None, None
            # Nobody can do anything with some modules, though the checker accepts them.
            spoiled = (name for name, each in seen if any(_same(found, result.error) for found, _ in rebuilt(each)))
            if (maker := next(spoiled, None)) is not None:
                return (Blame(maker, "its output cannot be rebuilt") if maker else None), None
            return Blame(name, "it raises an error on a well-formed module"), None
        if _unsound(result.module):
            return (Blame(name, "it turns a well-formed module into an ill-formed one") if name else None), None
        module = result.module
        seen.append((name, module))
    return None, module


def of_operators(module: Any, evidence: Evidence) -> Blame | None:
    """Blame the lowering of an operator: a call of it alone, of operands whose types say all, fails in the same way."""
    for call in _calls(module):
        with contextlib.suppress(Exception):  # no call of it can be made alone
            if (alone := _alone(call)) is None:
                continue
            for key, infos in (module.global_infos or {}).items():
                alone.update_global_info(key, infos)
            if _shows(alone, evidence):
                reason = "a single call of it, with operands of known types, fails in the same way without the pass"
                return Blame(f"{Culprit.LOWERING} of {operator_of(call)}", reason)
    return None


def _left(subject: Subject, index: int, evidence: Evidence) -> Blame | None:
    """Blame the pass of a pipeline that is to lower calls for one that it leaves as it was."""
    name, operator = the_pass(Trait.LEGALIZES), f"relax.{evidence.details.operator}"
    composed = subject.plan.steps[index].contract.composed
    legal = _by(Trait.LEGALIZES, subject.input_of(index)) if composed else None
    if legal is None or operator not in map(operator_of, _calls(legal)):
        return None
    return Blame(name, f"it leaves the call of {operator} by itself, too, and nothing behind it lowers operators")


def _generator(subject: Subject) -> Blame | None:
    """Blame LLVM's code generator where the same kernels, generated as C, give a call's documented result."""
    wrong = undocumented(subject)
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-") as place, contextlib.suppress(Exception):  # no C compiler
        if wrong is not None:
            library = str(Path(place) / "generated.so")
            relax.build(wrong.call.module, "c").export_library(library)
            values = [to_tvm(each) for each in wrong.call.arguments]
            observed = from_tvm(relax.VirtualMachine(tvm.runtime.load_module(library), tvm.cpu())[NAME](*values))
            if wrong.expectation.mismatch(observed) is None:
                return Blame(str(Culprit.LLVM), "the same kernels, generated as C, give what is documented")
    return None


def _shows(module: Any, evidence: Evidence) -> bool:
    """Say whether a module has what was observed, or does not build with an error of the same place and words."""
    if evidence.details.notation is Notation.JSON:
        return not reloads(module)
    if evidence.kind in _DECLARED:
        legal = _by(Trait.LEGALIZES, module)
        other = None if legal is None else changed_signature(module, legal)
        same = evidence.kind != _SIGNATURE or (other is not None and other.details.subject == evidence.details.subject)
        return other is not None and same
    if (found := complaint(module)) is None:
        try:
            session().build(module)
            return False
        except Exception as error:
            found = unbuildable(evidence_of(error)) if evidence.kind == "does-not-build" else evidence_of(error)
    words = normalise(found.message) == normalise(evidence.message)
    return words and (found.kind, found.frames[:1]) == (evidence.kind, evidence.frames[:1])


def _by(trait: Trait, module: Any) -> Any:
    """Return what the pass of a trait makes of a module; ``None`` where it raises."""
    return apply(getattr(relax.transform, the_pass(trait))(), module).module


def _alone(call: relax.Call) -> Any:
    """Return a module of one call, of parameters of the same types; ``None`` where these leave something open."""
    variables = [each for each in expressions(call) if isinstance(each, relax.Var)]
    params = {each: relax.Var(f"x{at}", each.ty) for at, each in enumerate(dict.fromkeys(variables))}
    new = _on(params, call)
    given = [leaf for each in call.args for leaf in flat(each.ty)]
    tensors = [leaf for leaf in (*given, *flat(call.ty)) if isinstance(leaf, relax.TensorType)]
    vague = any(leaf.shape is None or str(leaf.dtype) in _NO_DTYPE for leaf in tensors)
    if vague or not all(isinstance(leaf, tvm.ir.PrimType) or dims_of(leaf) is not None for leaf in given):
        return None
    symbols = relax.analysis.free_symbolic_vars(relax.Function([*params.values()], relax.SeqExpr([], new), call.ty))
    builder = relax.BlockBuilder()
    with builder.function("main", [*params.values(), *([relax.Var("dims", relax.ShapeType(symbols))] * bool(symbols))]):
        builder.emit_func_output(builder.emit(new))
    return builder.get()


def _overwriting(module: Any) -> Blame | None:
    """Blame the first pass of the lowering that has a kernel write into a constant, which the next call then reads."""
    for name, run in [("", lambda given: given), *_lowering()]:
        if (module := apply(run, module).module) is None:
            return None
        bound = {each.var: each.value for _, function in relax_functions(module) for each in places(function)}
        calls = [call for call in bound.values() if operator_of(call) == _IN_PLACE]
        written = [call.args[1].fields[at] for call in calls for at in call.attrs.inplace_indices if at >= 0]
        if any(is_constant(bound.get(each, each)) for each in written):
            return Blame(name, "it passes a constant as an operand that a kernel overwrites") if name else None
    return None


def _same(left: Evidence, right: Evidence) -> bool:
    """Say whether two errors are one; of those of C++ containers no place is known."""
    placed = left.frames and right.frames and left.frames[0].startswith("src/")
    if left.kind != right.kind or placed:
        return left.kind == right.kind and left.frames[0] == right.frames[0]
    return normalise(left.message) == normalise(right.message)


def _unsound(module: Any) -> bool:
    """Say whether TVM's checker objects to a module, a call does not fit its function, or a cast cannot succeed."""
    if complaint(module) is not None or mistyped_call(module) is not None or stale_call(module):
        return True
    casts = [place.binding for _, function in relax_functions(module) for place in places(function)]
    return any(
        relax.analysis.type_base_check(cast.ty, cast.value.ty) == _CONTRADICTION
        for cast in casts
        if isinstance(cast, relax.MatchCast)
    )


def of_kernels(module: Any, evidence: Evidence) -> Blame | None:
    """Find the pass of TIR, or the code generator, that refuses a well-formed kernel."""
    for var, kernel in module.functions.items():
        if not isinstance(kernel, tvm.tirx.PrimFunc) or not tvm.s_tir.analysis.verify_well_formed(kernel, False):
            continue
        trace = PassTrace()
        try:
            with tvm.transform.PassContext(instruments=[trace]):
                compile_object({"kernel": kernel}, checks=Checks.TVM)
        except Exception as error:
            if str(error).splitlines()[:1] != evidence.details.error.splitlines()[:1]:
                continue
            return Blame(
                (trace.running or [str(Culprit.LLVM)])[-1],
                f"it raises an error on the well-formed kernel {var.name_hint}",
            )
    return None


# Inside of the judged pass.


def _rewriters(module: Any) -> Iterator[Any]:
    """Yield passes that rewrite all expressions, or all calls of an operator, as themselves by their pattern."""

    def rewriter(pattern: Any, same: Callable[[Any, Any], Any]) -> Any:
        return relax.transform.function_pass(lambda function, *_: rewrite_call(pattern, same, function), opt_level=0)

    yield rewriter(wildcard(), lambda call, _: call)
    for operator, count in dict.fromkeys((operator_of(each), len(each.args)) for each in _calls(module)):
        parts = [wildcard() for _ in range(count)]
        yield rewriter(is_op(operator)(*parts), functools.partial(_made_of, parts))


def _made_of(parts: list[Any], call: Any, found: Any) -> Any:
    """Make a call once more, of what the parts of its pattern have matched."""
    return relax.Call(call.op, [found[part] for part in parts], call.attrs, call.ty_args)


def _calls(module: Any) -> list[Any]:
    return [*filter(operator_of, expressions_in(module))]


_PARTS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "relax.dpl.rewrite_call": _rewriters,
    "s_tir.renew_defs": lambda _: iter(
        [tvm.tirx.transform.prim_func_pass(lambda kernel, *_: tvm.s_tir.renew_defs(kernel), opt_level=0)]
    ),
}
"""Functions, no passes, that passes call (``Contract.inside``), as passes that do nothing else to a module."""


def _inside(subject: Subject, index: int, elementary: str, evidence: Evidence) -> Blame | None:
    """Find the pass, or the function, inside of the judged one that does the same by itself."""
    step, given = subject.plan.steps[index], subject.input_of(index)
    own = elementary in ("", step.ref.name)  # asked first: to see what runs inside is to run the pass once more
    if not own and elementary not in (*step.contract.inside, *names_inside(subject.built(index), given)):
        return None
    named = [(name, each) for name in _PARTS.keys() & step.contract.inside for each in _PARTS[name](given)]
    made = ((name, apply(each, given).module) for name, each in named)
    shown = (name for name, module in made if module is not None and _shows(module, evidence))
    name = next(shown, "") if own else elementary
    if name:
        return Blame(name, f"it fails in the same way by itself, and {step.ref.name} runs it")
    return _sharing(subject, index, evidence) if own else None


def _sharing(subject: Subject, index: int, evidence: Evidence) -> Blame | None:
    """Blame the elimination of common subexpressions, where the pass runs it on a module that it has given some."""
    if _repeating(subject, index, evidence) is None:
        return None
    reason = "it fails in the same way by itself where each use of a value has a computation of its own"
    return Blame(the_pass(Trait.SHARES), f"{reason}, and {subject.plan.steps[index].ref.name} runs it")


def _repeating(subject: Subject, index: int, evidence: Evidence) -> Any:
    """Return a module that the elimination fails on in the same way by itself; ``None`` without one.

    Nobody sees what it is given inside of a pass.  But passes read a value anew at each use, and leave it to the
    elimination to find out that it is the same: the values are parameters of their input, or calls, as in their output.
    """
    step, given, output = subject.plan.steps[index], subject.input_of(index), subject.chain[index].module
    if the_pass(Trait.SHARES) not in step.contract.inside or output is None:
        return None
    params = [param for _, function in relax_functions(given) for param in function.params]
    bound = {place.var: place.value for _, function in relax_functions(output) for place in places(function)}
    reads = {each: relax.op.call_pure_packed("value", each, ty_args=each.ty) for each in params}
    calls = {var: value for var, value in bound.items() if isinstance(value, relax.Call)}
    for module, repeated in ((given, reads), (output, calls)):
        with contextlib.suppress(Exception):  # a module that cannot be rebuilt
            copied = _Repeater(module, repeated).repeat()
            shared = _by(Trait.SHARES, copied)
            if complaint(copied) is None and shared is not None and _shows(shared, evidence):
                return copied
    return None


def sharing(case: Case, verdict: Verdict, blame: str) -> tuple[Case, Verdict] | None:
    """Return, in a worker, the case of the elimination alone, and how it fails there; if it is to blame and does so."""
    breadcrumb("traits")
    subject = Subject(load_module(case), case.passes, input_seed=case.input_seed)
    index = _step_of(subject, verdict.culprit) if blame == the_pass(Trait.SHARES) else None
    if index is None or (module := _repeating(subject, index, verdict.shown)) is None:
        return None
    alone = Case(str(tvm.ir.save_json(module)), (preparing(blame),), case.input_seed)
    return next(((alone, each) for each in judge_request(alone, (OracleName.WELL_FORMED,)) if each.evidence), None)


@relax.expr_functor.mutator
class _Repeater(relax.PyExprMutator):
    """Rebuilds the functions of a module, with an expression of its own for each use of some variables."""

    def __init__(self, module: Any, repeated: dict[Any, Any]) -> None:
        super().__init__(module)
        self._module, self._repeated = module, repeated

    def repeat(self) -> Any:
        """Return the rebuilt module."""
        for var, function in relax_items(self._module):
            self.builder_.update_func(var, self.visit_expr(function))
        return self.builder_.get()

    def visit_var_(self, var: Any) -> Any:
        """Emit the expression once more."""
        return self.builder_.emit(self._repeated[var]) if var in self._repeated else super().visit_var_(var)


def _hook(subject: Subject, index: int) -> Blame | None:
    """Blame the function of an operator that the pass only calls, where that gives something else than is asked."""
    step = subject.plan.steps[index]
    what = "drops an operand, an attribute or the operator, or its result has another form than the call"
    for call, hook in _hooked(step.contract.hook, expressions_in(subject.input_of(index))):
        with contextlib.suppress(Exception):  # what it raises was asked for before
            if hook.is_wrong(call):
                return _of_hook(hook, call, f"{step.ref.name} calls it, and it {what}", silent=True)
    return None


def _hooked(hook: Hook | None, values: Iterable[Any]) -> Iterator[tuple[Any, Hook]]:
    """Yield the calls of operators that have a function which a pass calls."""
    for value in values if hook is not None else ():
        if hook is not None and (name := operator_of(value)) and operator_has(name, hook.attribute):
            yield value, hook


def _of_hook(hook: Hook, call: Any, reason: str, silent: bool = False) -> Blame:
    return Blame(f"{operator_of(call)} (its {hook.attribute})", reason, silent)


def call_hooks(case: Case) -> None:
    """Call, in a worker, the functions of operators that passes call, after a breadcrumb of the name of each."""
    module = load_module(case)
    for step in Subject(module, case.passes).plan.steps:
        for call, hook in _hooked(step.contract.hook, expressions_in(module)):
            breadcrumb(_of_hook(hook, call, "").name)
            try:
                hook.is_wrong(call)
            except Exception as error:
                if is_out_of_memory(evidence_of(error)):
                    raise MemoryError from error  # of which the process is to die


def _spoiler(subject: Subject, index: int) -> Blame | None:
    """Blame the innermost pass that makes an ill-formed module of a well-formed one, before another pass raises."""
    given = subject.input_of(index)
    if _unsound(given) or not (running := first_wrong(subject.built(index), given, _unsound)):
        return None
    (maker, entered), reason = running[-1], "it makes an ill-formed module, on which a later pass raises an error"
    parts = CONTRACTS[maker].inside if maker in CONTRACTS else ()
    for name in (each for each in ELEMENTARY if each in parts):  # functions, which no instrument sees
        made = apply(getattr(relax.transform, name)(), entered).module
        if made is not None and _unsound(made):
            return Blame(name, f"{maker} calls its function, and {reason}")
    return Blame(maker, reason)


def _in_hook(subject: Subject, index: int, given: Any, evidence: Evidence) -> Blame | None:
    """Blame the function of an operator that the pass only calls, where that raises by itself.

    Layouts are inferred from those of the operands, so that each call takes what the calls before it gave.
    """
    step, layouts = subject.plan.steps[index], dict[Any, Any]()
    desired = _argument(step.ref, lambda value: isinstance(value, dict)) or {}
    bound = {place.value: place.var for _, function in relax_functions(given) for place in places(function)}
    for call, hook in _hooked(step.contract.hook, bound):
        try:
            if hook.attribute == LAYOUTS:
                made = call.op.get_attr(LAYOUTS)(call, desired, layouts)
                if isinstance(bound[call], relax.DataflowVar):
                    layouts[bound[call]] = made.output_layouts[0]
            else:
                hook.is_wrong(call)
        except Exception as error:
            if _same(evidence_of(error), evidence):
                return _of_hook(hook, call, f"{step.ref.name} calls it, and it raises the same error by itself")
    return None


def _inference(subject: Subject, index: int, evidence: Evidence) -> Blame | None:
    """Blame type inference, or the block builder, where rebuilding the module raises in the same place."""
    step = subject.plan.steps[index]
    asked = _argument(step.ref, callable) if Trait.RETYPES_THE_GIVEN in step.contract.traits else None
    for error, operator in rebuilt(subject.input_of(index), asked):
        if _same(error, evidence):
            inferred = operator and not error.frames[0].startswith("src/relax/ir/")
            part = f"{Culprit.TYPE_INFERENCE} of {operator}" if inferred else str(Culprit.BUILDER)
            return Blame(part, "rebuilding the module with the block builder alone raises the same error")
    return None


def _inference_of_others(subject: Subject, index: int, evidence: Evidence) -> Blame | None:
    """Blame type inference for what it makes of a call of others than the variables that the call has."""
    stood_in = ((call, each) for call in _calls(subject.input_of(index)) for each in _stand_ins(call))
    for made, (values, what) in stood_in:
        try:
            known, other = (relax.BlockBuilder().normalize(_on(each, made)).ty for each in ({}, values))
            found = evidence.kind in _OF_TYPES and relax.analysis.type_base_check(other, known) == _CONTRADICTION
        except Exception as error:
            found = _same(evidence_of(error), evidence)
        if found:
            part = f"{Culprit.TYPE_INFERENCE} of {operator_of(made).removeprefix('relax.')}"
            return Blame(part, f"it fails in the same way, or gives a type of other values, for {what}")
    return None


def _stand_ins(call: Any) -> Iterator[tuple[dict[Any, Any], str]]:
    """Yield what inference must take as well in the place of a call's variables, and what it is."""
    variables = [each for each in expressions(call) if isinstance(each, relax.Var)]
    tensors = [each for each in variables if isinstance(each.ty, relax.TensorType)]
    sized = [(var, dims) for var in tensors if (dims := static_dims(var.ty)) is not None]
    with contextlib.suppress(TypeError):  # numpy does not know the dtype
        constants = {var: relax.const(np.zeros(dims), str(var.ty.dtype)) for var, dims in sized}
        yield constants, "constants of the same types"
    types = [(var, relax.TensorType(dtype=var.ty.dtype, ndim=var.ty.ndim, vdevice=var.ty.vdevice)) for var in tensors]
    if not call.ty_args:  # it does not say what its operands are
        yield {var: relax.Var("x", ty) for var, ty in types}, "operands of unknown shape"


def _on(values: dict[Any, Any], call: Any) -> Any:
    """Make a call once more, of other values for variables."""
    return relax.Call(call.op, [_with(values, each) for each in call.args], call.attrs, call.ty_args)


def _with(params: dict[Any, Any], expr: Any) -> Any:
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([_with(params, each) for each in expr.fields])
    return params.get(expr, expr) if isinstance(expr, relax.Var) else expr


def rebuilt(module: Any, asked: Callable[[Any], Any] | None = None) -> Iterator[tuple[Evidence, str]]:
    """Rebuild each function by the block builder alone; yield what that raises, with the operator that it came to.

    Args:
        module: The module.
        asked: Gives a parameter another type.
    """
    builder = _Rebuilder(module)
    works = [functools.partial(builder.rebuild, function, asked) for _, function in relax_items(module)]
    for work in (*works, builder.builder_.finalize):
        try:
            work()
        except Exception as error:
            yield evidence_of(error), builder.operator


def _argument(ref: Any, wanted: Callable[[Any], bool]) -> Any:
    """Return the first argument of a kind that a pass was built with; ``None`` where nobody can tell."""
    with contextlib.suppress(NotLiteral, TypeError):
        return next((value for value in arguments(ref).values() if wanted(value)), None)
    return None


@relax.expr_functor.mutator
class _Rebuilder(relax.PyExprMutator):
    """Rebuilds a function, with the types of parameters that were asked for."""

    operator = ""

    def rebuild(self, function: Any, asked: Callable[[Any], Any] | None) -> Any:
        if asked is None:
            return self.visit_expr(function)
        params = [relax.Var(param.name, asked(param) or param.ty) for param in function.params]
        for old, new in zip(function.params, params, strict=True):
            self.set_var_remap(old, new)
        self.builder_.begin_scope(params)
        body = self.visit_expr(function.body)
        self.builder_.end_scope()
        return body

    def visit_call_(self, call: Any) -> Any:
        self.operator = (operator_of(call) or "a call").removeprefix("relax.")
        return super().visit_call_(call)


def _writer(subject: Subject, index: int) -> Blame | None:
    """Find the innermost pass, of Relax or TIR, that modifies its input module."""
    judged = subject.plan.steps[index].ref
    name = "" if subject.facts is None else first_writer(judged.build(), subject.input_of(index))
    return None if name in ("", judged.name) else Blame(name, f"it modifies its input, inside {judged.name}")
