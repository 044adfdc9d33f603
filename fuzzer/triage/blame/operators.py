"""Blame the lowering of an operator, and what generates or runs its kernels."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.findings.assessment import Blame, Culprit
from fuzzer.triage.blame.failed_case import SIGNATURE, UNBUILT, FailedCase, calls_in, made_by, shows
from oracles.core.function_signatures import changed_signature
from oracles.core.verdict import NOT_AS_DOCUMENTED
from oracles.numeric.oracle import undocumented
from oracles.semantics.replay import FLOAT8, fault_of
from oracles.semantics.single import NAME, SingleCall
from relaxkit.interpreter import Interpreter
from relaxkit.ir.types import dims_of, flat, static_dims, without_agreed_devices
from relaxkit.ir.walk import expressions, nodes, operator_of
from relaxkit.passes.contract import Trait
from relaxkit.passes.contracts import the_pass
from relaxkit.runtime.values import arrays_in, from_tvm, to_tvm

_CAST = "relax.astype"
_NO_DTYPE = ("None", "", "void")


def lowering(failed: FailedCase) -> Blame | None:
    """Blame the lowering of an operator of which a call alone fails in the same way."""
    made = failed.subject.output.module if failed.index is None else failed.made
    looked = made if failed.evidence.kind in UNBUILT else failed.given
    for operator, alone in calls_alone(looked):
        if shows(alone, failed.evidence):
            reason = "a single call to it, alone in a module, fails in the same way" if calls_in(looked)[1:] else ""
            return Blame(f"{Culprit.LOWERING} of {operator}", reason)
    return None


def retyped(failed: FailedCase, given: Any = None) -> Blame | None:
    """Blame the lowering of an operator that gives a call alone, of operands of the same types, another type.

    Where that is another dtype, a program that returns the result builds, and nobody is told.
    """
    made = failed.evidence.kind in UNBUILT and given is None
    looked = failed.made if made else failed.given if given is None else given
    for operator, alone in calls_alone(looked):
        if (legal := made_by(Trait.LEGALIZES, alone)) is None:
            continue
        before, after = without_agreed_devices(alone[NAME].ret_ty, legal[NAME].body.body.ty)
        found = changed_signature(alone, legal) if failed.evidence.kind == SIGNATURE else None
        same = found is not None and found.details.subject == failed.evidence.details.subject
        if same or (failed.evidence.kind != SIGNATURE and not before.is_base_of(after)):
            dtypes = [[getattr(leaf, "dtype", None) for leaf in flat(each)] for each in (before, after)]
            reason = "it changes the type of a single call to the operator" if calls_in(looked)[1:] else ""
            blame = Blame(f"{Culprit.LOWERING} of {operator}", reason, dtypes[0] != dtypes[1])
            return _inferred(operator, alone, legal) or blame
    return None


def _inferred(operator: str, alone: Any, legal: Any) -> Blame | None:
    """Blame type inference where a call of zeros has the documented shapes as it is lowered, and others as inferred."""
    types = [flat(each) for each in (alone[NAME].ret_ty, legal[NAME].body.body.ty)]
    with contextlib.suppress(Exception):  # of which nothing is documented
        zeros = tuple(np.zeros(static_dims(each.ty) or (), str(each.ty.dtype)) for each in alone[NAME].params)
        shapes = [[*each.shape] for each in arrays_in(Interpreter(alone).call(NAME, zeros))]
        if [[static_dims(leaf) for leaf in each] == shapes for each in types] == [False, True]:
            part = operator.removeprefix("relax.")
            return Blame(f"{Culprit.TYPE_INFERENCE} of {part}", "what it is lowered to has the documented shape")
    return None


def calls_alone(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the operators of calls, each with a module of the call alone, where types of its operands say all."""
    for call in [] if module is None else calls_in(module):
        with contextlib.suppress(Exception):  # no call of it can be made alone
            if (alone := _alone(call, module.global_infos)) is not None:
                yield operator_of(call), alone


def documented(failed: FailedCase) -> Blame:
    """Blame the lowering of an operator of which a result is not as documented."""
    operator = failed.evidence.details.operator
    return Blame(f"{Culprit.LOWERING} of {operator}")  # scripts show a single call of it


def conversion(failed: FailedCase) -> Blame | None:
    """Blame the conversion of float8 for what a cast by itself, or of an operand of the call, shows."""
    if failed.evidence.details.operator != FLOAT8:
        return None
    wrong = undocumented(failed.subject)
    operands = [] if wrong is None else arrays_in(wrong.call.arguments)
    if failed.evidence.details.entry == _CAST or any(map(_is_cast_wrongly, operands)):
        return Blame(str(Culprit.FLOAT8), "a cast by itself shows it")
    return None


def _is_cast_wrongly(array: Any) -> bool:
    """Say whether a cast of an array of float8 to float32 gives another result than is documented."""
    if not array.dtype.name.startswith("float8"):
        return False
    x, builder = relax.Var("x", relax.TensorType(array.shape, array.dtype.name)), relax.BlockBuilder()
    with builder.function(NAME, [x]):
        builder.emit_func_output(builder.emit(relax.op.astype(x, "float32")))
    return fault_of(SingleCall(_CAST, builder.get(), (array,))) is not None


def _alone(call: relax.Call, infos: Any) -> Any:
    """Return a module of one call, of parameters of the same types; ``None`` where these leave something open."""
    variables = [each for each in expressions(call) if isinstance(each, relax.Var)]
    params = {each: relax.Var(f"x{at}", each.ty) for at, each in enumerate(dict.fromkeys(variables))}
    new = on_values(params, call)
    given = [leaf for each in call.args for leaf in flat(each.ty)]
    tensors = [leaf for leaf in (*given, *flat(call.ty)) if isinstance(leaf, relax.TensorType)]
    vague = any(leaf.shape is None or str(leaf.dtype) in _NO_DTYPE for leaf in tensors)
    if vague or not all(isinstance(leaf, tvm.ir.PrimType) or dims_of(leaf) is not None for leaf in given):
        return None
    symbols = relax.analysis.free_symbolic_vars(relax.Function([*params.values()], relax.SeqExpr([], new), call.ty))
    builder = relax.BlockBuilder()
    with builder.function(NAME, [*params.values(), *([relax.Var("dims", relax.ShapeType(symbols))] * bool(symbols))]):
        builder.emit_func_output(builder.emit(new))
    made = builder.get()
    for key, listed in (infos or {}).items():
        made.update_global_info(key, listed)
    return made


def on_values(values: dict[Any, Any], call: Any) -> Any:
    """Make a call once more, of other values for variables."""
    return relax.Call(call.op, [_with(values, each) for each in call.args], call.attrs, call.ty_args)


def _with(params: dict[Any, Any], expr: Any) -> Any:
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([_with(params, each) for each in expr.fields])
    return params.get(expr, expr) if isinstance(expr, relax.Var) else expr


def unlowered(failed: FailedCase) -> Blame | None:
    """Blame the pass of a pipeline that is to lower calls for one that it leaves as it was."""
    name, operator = the_pass(Trait.LEGALIZES), f"relax.{failed.evidence.details.operator}"
    legal = made_by(Trait.LEGALIZES, failed.given) if failed.step.contract.composed else None
    if legal is None or operator not in map(operator_of, calls_in(legal)):
        return None
    return Blame(name, f"it leaves a single call to {operator} as it is, too, and no later pass lowers operators")


def generator(failed: FailedCase) -> Blame | None:
    """Blame LLVM's code generator where the same kernels, generated as C, give a call's documented result."""
    wrong = undocumented(failed.subject)
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-") as place, contextlib.suppress(Exception):  # no C compiler
        if wrong is not None:
            library = str(Path(place) / "generated.so")
            relax.build(wrong.call.module, "c").export_library(library)
            values = [to_tvm(each) for each in wrong.call.arguments]
            observed = from_tvm(relax.VirtualMachine(tvm.runtime.load_module(library), tvm.cpu())[NAME](*values))
            if wrong.expectation.mismatch(observed) is None:
                return Blame(str(Culprit.LLVM), "the same kernels, generated as C, give what is documented")
    return None


def reductions(failed: FailedCase) -> Blame | None:
    """Blame what makes loops of reductions, where one begins in the first iteration of a loop."""
    alone = undocumented(failed.subject) if failed.evidence.kind == NOT_AS_DOCUMENTED else None
    lowered = None if alone is None else made_by(Trait.LEGALIZES, alone.call.module)
    what = "it has a reduction initialized in the first iteration of its loop, of which there is none over a dim of 0"
    begun = any(map(begins_in_a_loop, (failed.subject.output.module, lowered)))
    return Blame(str(Culprit.REDUCTIONS), what) if begun else None


def begins_in_a_loop(module: Any) -> bool:
    """Say whether a kernel has a value to begin with for what it reduces along a symbolic dim."""
    functions = [] if module is None else [*module.functions.values()]
    bodies = [each.body for each in functions if isinstance(each, tvm.tirx.PrimFunc)]
    begun = [block for body in bodies for block in nodes(body, tvm.s_tir.SBlock)[0] if block.init is not None]
    reduced = [var for block in begun for var in block.iter_vars if var.iter_type == tvm.tirx.IterVar.CommReduce]
    return any(not isinstance(var.dom.extent, tvm.tirx.IntImm) for var in reduced)
