"""Types of functions across a pass: declared against computed, public signature against the original's."""

from __future__ import annotations

from dataclasses import replace

import tvm
import tvm_ffi
from tvm import relax, tirx

from oracles.core.objection import difference
from oracles.core.verdict import Details, Difference, Evidence
from relaxkit.ir.call_types import ill_typed_call
from relaxkit.ir.functions import has_attribute, is_public, relax_functions, symbol_of
from relaxkit.ir.types import dims_of, without_agreed_devices
from relaxkit.ir.walk import operator_of, places
from relaxkit.passes.contract import EvidenceClass
from relaxkit.runtime import session

_OTHER_RESULT = "a public function has another return type"
_NO_INTERSECTION = relax.analysis.BaseCheckResult.FAIL_L0


def contradicted_type(before: tvm.IRModule, after: tvm.IRModule) -> Evidence | None:
    """Return the first function whose declared return type has no value in common with its body's type.

    TVM's checker does not compare the two. A function of the same name that contradicted itself already
    before the pass is not reported.
    """
    known = dict(relax_functions(before))
    for name, function in relax_functions(after):
        if not _contradicts(function) or (name in known and _contradicts(known[name])):
            continue
        return Evidence(
            "contradicted-type",
            "declared return type contradicts the body's type",
            expected=f"{name} returns {function.ret_ty}, as declared",
            observed=f"its body has type {function.body.ty}",
            details=_differing(function.ret_ty, function.body.ty),
        )
    return None


def _differing(expected: tvm.ir.Type, found: tvm.ir.Type) -> Details:
    return Details(subject=str(difference(expected, found) or ""))


def mistyped_call(module: tvm.IRModule) -> Evidence | None:
    """Return the first call that does not fit its callee (:func:`relaxkit.ir.call_types.ill_typed_call`)."""
    if (found := ill_typed_call(module)) is None:
        return None
    callee, caller, complaint = found
    # Nobody checks devices but inference, where a later pass asks it afresh; what builds all the same is in order.
    ours = ill_typed_call(module, devices=False) is None and session().builds(module)
    return Evidence(
        "mistyped-call",
        "a call does not fit its callee",
        expected=f"every call of {callee} fits its parameters",
        observed=f"in {caller}: {complaint}",
        details=Details(rests_on=EvidenceClass.OURS if ours else None),
    )


def changed_signature(before: tvm.IRModule, after: tvm.IRModule) -> Evidence | None:
    """Return the first public Relax function that is gone, or whose parameter or return types are others.

    A return type may be refined (a shape where there was only a rank, a device where none was said), or its dimensions
    written otherwise.
    """
    now = {symbol_of(function): function for function in _public(after)}
    for old in _public(before):
        name = symbol_of(old)
        new = now.get(name)
        if new is None:
            return Evidence("signature", "a public function is gone", expected=f"{name} is kept", observed="none")
        if new.same_as(old) or tvm_ffi.structural_equal(old.ty, new.ty, map_free_vars=True):
            continue
        if isinstance(old.body, relax.SeqExpr) and _disagree(old.ret_ty, old.body.body.ty):
            continue  # what it declared was not what it returns; TVM's checker does not look (seen of reductions)
        if (fault := _fault(old, new)) is not None:
            types = [relax.TupleType([*(param.ty for param in each.params), each.ret_ty]) for each in (old, new)]
            # What inference finds out of a result, nobody promises.
            ground = EvidenceClass.OURS if fault == _OTHER_RESULT else None
            details = replace(_differing(*types), operator=_lowered_to_another_type(old, new), rests_on=ground)
            return Evidence(
                "signature", fault, expected=f"{name}: {old.ty}", observed=f"{name}: {new.ty}", details=details
            )
    return None


def _lowered_to_another_type(old: relax.Function, new: relax.Function) -> str:
    """Return the operator whose kernel gives another type than the operator; empty where none stands in its place."""
    now = {str(place.var.name): place.binding for place in places(new)}
    for place in places(old):
        var, operator = place.var, operator_of(place.value)
        made = now.get(str(var.name))
        if not operator or made is None or operator_of(made.value) in ("", operator):
            continue
        if operator_of(made.value) == "relax.call_tir" and difference(var.ty, made.var.ty):
            return operator.removeprefix("relax.")
    return ""


def _fault(old: relax.Function, new: relax.Function) -> str | None:
    if len(old.params) != len(new.params):
        return "a public function has another number of parameters"
    olds = relax.TupleType([param.ty for param in old.params])
    news = relax.TupleType([param.ty for param in new.params])
    if not tvm_ffi.structural_equal(olds, news, map_free_vars=True):
        return "a public function has other parameter types"
    # Structurally equal, so that the symbolic variables correspond in order of definition.
    theirs = relax.analysis.definable_tir_vars_in_type(news)
    ours = relax.analysis.definable_tir_vars_in_type(olds)
    binding = {new_var: old_var for new_var, old_var in zip(theirs, ours, strict=True) if not new_var.same_as(old_var)}
    result = new.bind_symbolic_vars(binding).ret_ty if binding else new.ret_ty
    before, after = without_agreed_devices(old.ret_ty, result)
    analyzer = tvm.sym.Analyzer()
    for var in relax.analysis.tir_vars_in_type(relax.TupleType([before, after])):  # dims are not negative
        analyzer.bind(var, tvm.ir.Range.from_min_extent(tirx.IntImm(var.ty.dtype, 0), tirx.IntImm(var.ty.dtype, 2**30)))
    return None if _agrees(before, after, analyzer) else _OTHER_RESULT


def _agrees(before: tvm.ir.Type, after: tvm.ir.Type, analyzer: tvm.sym.Analyzer) -> bool:
    """Return whether a type says no less than another, or the same with dimensions that are written otherwise."""
    if isinstance(before, relax.TupleType) and isinstance(after, relax.TupleType):
        pairs = zip(before.fields, after.fields, strict=False)
        return len(before.fields) == len(after.fields) and all(_agrees(*each, analyzer) for each in pairs)
    if before.is_base_of(after) or difference(before, after) is not Difference.SHAPE:
        return bool(before.is_base_of(after))
    left, right = dims_of(before), dims_of(after)
    same = left is not None and right is not None and all(map(analyzer.can_prove_equal, left, right))
    return same and bool(tvm_ffi.structural_equal(getattr(before, "vdevice", None), getattr(after, "vdevice", None)))


def _contradicts(function: relax.Function) -> bool:
    return _disagree(function.ret_ty, function.body.ty)


def _disagree(declared: tvm.ir.Type, computed: tvm.ir.Type) -> bool:
    check = relax.analysis.type_base_check(declared, computed)
    if check == relax.analysis.BaseCheckResult.PASS:
        return False
    return bool(check == _NO_INTERSECTION) or _some_dimension_differs(declared, computed, tvm.sym.Analyzer())


def _some_dimension_differs(declared: tvm.ir.Type, computed: tvm.ir.Type, analyzer: tvm.sym.Analyzer) -> bool:
    """Return whether a dimension provably differs for all values of the symbols (``n`` against ``n + 1``).

    TVM calls symbolic dimensions that are not equal merely unknown.
    """
    if isinstance(declared, relax.TupleType) and isinstance(computed, relax.TupleType):
        pairs = zip(declared.fields, computed.fields, strict=False)
        return any(_some_dimension_differs(left, right, analyzer) for left, right in pairs)
    left, right = dims_of(declared), dims_of(computed)
    if left is None or right is None or len(left) != len(right):
        return False
    return any(analyzer.can_prove(tirx.NE(a, b)) for a, b in zip(left, right, strict=True))


def _public(module: tvm.IRModule) -> list[relax.Function]:
    return [
        function
        for _, function in relax_functions(module)
        if is_public(function)
        and not has_attribute(function, "Codegen")  # public for the linker only: no caller of the module uses it
    ]
