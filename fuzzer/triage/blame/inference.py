"""Blame type inference, or the block builder, for what rebuilding a module takes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.utils import copy_with_new_vars

from fuzzer.core.case import Case, load_module
from fuzzer.findings.assessment import Blame, Culprit
from fuzzer.triage.blame.failed_case import CONTRADICTION, SIGNATURE, FailedCase, calls_in, same
from fuzzer.triage.blame.hooks import argument
from fuzzer.triage.blame.operators import on_values
from fuzzer.triage.traits import ELEMENTARY
from fuzzer.worker.child import breadcrumb
from oracles.core.evidence import evidence_of
from oracles.core.module_facts import apply
from oracles.core.objection import difference
from oracles.core.verdict import Evidence
from relaxkit.ir.functions import relax_items
from relaxkit.ir.types import static_dims
from relaxkit.ir.walk import expressions, operator_of
from relaxkit.passes.contract import Trait
from relaxkit.passes.contracts import CONTRACTS

_CONSTANTS = "constants of the same types"
_OF_TYPES = frozenset({"ill-formed", "contradicted-type", SIGNATURE})


def inference(failed: FailedCase) -> Blame | None:
    """Blame type inference, or the block builder, where rebuilding the module raises in the same place."""
    step = failed.step
    asked = argument(step.ref, callable) if Trait.RETYPES_THE_GIVEN in step.contract.traits else None
    for error, operator in rebuilt(failed.given, asked):
        if same(error, failed.evidence):
            inferred = operator and not error.frames[0].startswith("src/relax/ir/")
            part = _inference(operator) if inferred else str(Culprit.BUILDER)
            return Blame(part, "rebuilding the module with the block builder alone raises the same error")
    return None


def builder(failed: FailedCase) -> Blame | None:
    """Blame the block builder for what shows at a pass that does nothing but rebuild, and does not run inside."""
    if failed.is_own or Trait.REBUILDS not in CONTRACTS[failed.elementary].traits:
        return None
    return Blame(str(Culprit.BUILDER), f"{failed.elementary} fails in the same way, which does nothing but rebuild")


def placing(failed: FailedCase) -> Blame | None:
    """Blame the pass that puts a constant where a call takes a variable of the same type, or the one inside that does.

    The operator may say so: inference is of types (TVM's ``test_op_grad.py`` demands it of ``start_checkpoint``).
    """
    inside = [name for name in ELEMENTARY if name in failed.step.contract.inside]
    for call in _calls(failed):
        with contextlib.suppress(Exception):  # no constants of the types of the operands, or no call of variables
            builder, constants = relax.BlockBuilder(), _constants(call)
            with builder.function("main", []):
                variables = {var: builder.emit(constant) for var, constant in constants.items()}
                builder.emit_func_output(builder.emit(on_values(variables, call)))
            tried = ((name, apply(getattr(relax.transform, name)(), builder.get()).error) for name in inside)
            if name := next((name for name, error in tried if error and same(error, failed.evidence)), ""):
                what = "it puts a constant where the operator takes a variable, and"
                return Blame(name, f"{what} {failed.step.ref.name} runs it")
    return None


def inference_of_others(failed: FailedCase) -> Blame | None:
    """Blame type inference for what it makes of a call of others than the variables that the call has."""
    for made, (values, what) in ((call, each) for call in _calls(failed) for each in _stand_ins(call)):
        try:
            known, other = (relax.BlockBuilder().normalize(on_values(each, made)).ty for each in ({}, values))
            contradicts = relax.analysis.type_base_check(other, known) == CONTRADICTION
            differs = str(difference(known, other)) == failed.evidence.details.subject
            found = failed.evidence.kind in _OF_TYPES and contradicts and differs
        except Exception as error:
            found = what != _CONSTANTS and same(evidence_of(error), failed.evidence)
        if found:
            part = _inference(operator_of(made))
            return Blame(part, f"it fails in the same way, or gives a type of other values, for {what}")
    return None


def _stand_ins(call: Any) -> Iterator[tuple[dict[Any, Any], str]]:
    """Yield what inference must take as well in the place of a call's variables, and what it is."""
    tensors = _tensors(call)
    with contextlib.suppress(TypeError):  # numpy does not know the dtype
        yield _constants(call), _CONSTANTS
    unknown = [var for var in tensors if var.ty.shape is None and var.ty.ndim >= 0]
    ones = [(var, relax.TensorType([1] * var.ty.ndim, var.ty.dtype, var.ty.vdevice)) for var in unknown]
    types = [(var, relax.TensorType(dtype=var.ty.dtype, ndim=var.ty.ndim, vdevice=var.ty.vdevice)) for var in tensors]
    if not call.ty_args:  # it does not say what its operands are
        yield {var: relax.Var("x", ty) for var, ty in types}, "operands of unknown shape"
        yield {var: relax.Var("x", ty) for var, ty in ones}, "operands of a known shape"


def _tensors(call: Any) -> list[Any]:
    variables = [each for each in expressions(call) if isinstance(each, relax.Var)]
    return [each for each in variables if isinstance(each.ty, relax.TensorType)]


def _constants(call: Any) -> dict[Any, Any]:
    """Return constants of the types of a call's variables; raises ``TypeError`` where numpy does not know the dtype."""
    sized = [(var, dims) for var in _tensors(call) if (dims := static_dims(var.ty)) is not None]
    return {var: relax.const(np.zeros(dims), str(var.ty.dtype)) for var, dims in sized}


def _calls(failed: FailedCase) -> list[Any]:
    """Return the calls of operators in what the judged pass is given, and in what it makes."""
    modules = [failed.given, *([failed.made] * (failed.made is not None))]
    return [call for module in modules for call in calls_in(module)]


def infer_alone(case: Case) -> None:
    """Infer, in a worker, the type of each call that the first pass is given, after a breadcrumb of its operator.

    A pass may have lost the shapes of operands, so calls without these are tried as well.
    """
    calls = calls_in(load_module(case))
    for made, values in ((call, each) for call in calls for each in ({}, *(each for each, _ in _stand_ins(call)))):
        breadcrumb(_inference(operator_of(made)))
        with contextlib.suppress(Exception):  # what it raises was asked for before
            relax.BlockBuilder().normalize(on_values(values, made))


def _inference(operator: str) -> str:
    return f"{Culprit.TYPE_INFERENCE} of {operator.removeprefix('relax.')}"


def rebuilt(module: Any, asked: Callable[[Any], Any] | None = None) -> Iterator[tuple[Evidence, str]]:
    """Rebuild each function by the block builder alone; yield what that raises, with the operator that it came to.

    Args:
        module: The module.
        asked: Gives a parameter another type.
    """
    builder = Rebuilder(module)
    works = [functools.partial(builder.rebuild, function, asked) for _, function in relax_items(module)]
    for work in (*works, builder.builder_.finalize):
        try:
            work()
        except Exception as error:
            yield evidence_of(error), builder.operator


@relax.expr_functor.mutator
class Rebuilder(relax.PyExprMutator):
    """Rebuilds functions: with other types of parameters, an expression of its own for each use of some variables, or
    the bodies of functions in the place of calls.

    Attributes:
        operator: Of the call that it came to.
    """

    operator = ""

    def __init__(self, module: Any, repeated: Mapping[Any, Any] = MappingProxyType({}), inlines: bool = False) -> None:
        super().__init__(module)
        self._module, self._repeated, self._inlines = module, repeated, inlines

    def module(self) -> Any:
        """Return the rebuilt module."""
        for var, function in relax_items(self._module):
            self.builder_.update_func(var, self.visit_expr(function))
        return self.builder_.get()

    def rebuild(self, function: Any, asked: Callable[[Any], Any] | None) -> Any:
        """Rebuild a function, with the types of parameters that are asked for."""
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
        """Note the operator, or put the body of the function there."""
        self.operator = (operator_of(call) or "a call").removeprefix("relax.")
        made = super().visit_call_(call)
        callee = self._module[call.op] if self._inlines and isinstance(call.op, tvm.ir.GlobalVar) else None
        if not isinstance(callee, relax.Function):
            return made
        copied = copy_with_new_vars(callee)
        return copied.bind_params(dict(zip(copied.params, made.args, strict=True))).body

    def visit_var_(self, var: Any) -> Any:
        """Emit the expression once more."""
        visit = super().visit_var_
        if (value := self._repeated.get(var)) is None:
            return visit(var)
        read = {each: visit(each) for each in relax.analysis.free_vars(value)}  # they may have been rebuilt
        return self.builder_.emit(on_values(read, value))
