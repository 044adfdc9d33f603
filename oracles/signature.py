"""Types of functions across a pass: declared against computed, public signature against the original's."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from oracles.agreed_devices import without_agreed_devices
from oracles.call_types import unfit_call
from oracles.verdict import Evidence

_NO_INTERSECTION = relax.analysis.BaseCheckResult.FAIL_L0


def contradicted_type(before: Any, after: Any) -> Evidence | None:
    """The first function whose declared return type has no value in common with its body's type.

    TVM's checker does not compare the two. A function of the same name that contradicted itself already
    before the pass is not reported.
    """
    for var, function in after.functions_items():
        if not isinstance(function, relax.Function) or not _contradicts(function):
            continue
        old = _by_name(before, var.name_hint)
        if old is not None and _contradicts(old):
            continue
        return Evidence(
            "contradicted-type",
            "declared return type contradicts the body's type",
            expected=f"{var.name_hint} returns {function.ret_ty}, as declared",
            observed=f"its body has type {function.body.ty}",
        )
    return None


def mistyped_call(module: Any) -> Evidence | None:
    """The first call of a function of the module that does not fit it: :func:`oracles.call_types.unfit_call`."""
    if (found := unfit_call(module)) is None:
        return None
    callee, caller, complaint = found
    return Evidence(
        "mistyped-call",
        "a call does not fit its callee",
        expected=f"calls that fit {callee}",
        observed=f"in {caller}: {complaint}",
    )


def changed_signature(before: Any, after: Any) -> Evidence | None:
    """The first public Relax function that is gone, or whose parameter or return types are others.

    A return type may be refined (a shape where there was only a rank, a device where none was said), or its dimensions
    written otherwise.
    """
    now = {str(function.attrs["global_symbol"]): function for function in _public(after)}
    for old in _public(before):
        name = str(old.attrs["global_symbol"])
        new = now.get(name)
        if new is None:
            return Evidence("signature", "a public function is gone", expected=f"function {name}", observed="none")
        if new.same_as(old) or tvm_ffi.structural_equal(old.ty, new.ty, map_free_vars=True):
            continue
        if isinstance(old.body, relax.SeqExpr) and _disagree(old.ret_ty, old.body.body.ty):
            continue  # what it declared was not what it returns; TVM's checker does not look (seen of reductions)
        if (fault := _fault(old, new)) is not None:
            return Evidence("signature", fault, expected=f"{name}: {old.ty}", observed=f"{name}: {new.ty}")
    return None


def _fault(old: Any, new: Any) -> str | None:
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
    if not before.is_base_of(after):
        return "a public function has another return type"
    return None


def _contradicts(function: Any) -> bool:
    return _disagree(function.ret_ty, function.body.ty)


def _disagree(declared: Any, computed: Any) -> bool:
    check = relax.analysis.type_base_check(declared, computed)
    if check == relax.analysis.BaseCheckResult.PASS:
        return False
    return bool(check == _NO_INTERSECTION) or _some_dimension_differs(declared, computed, tvm.sym.Analyzer())


def _some_dimension_differs(declared: Any, computed: Any, analyzer: Any) -> bool:
    """Whether a dimension provably differs for all values of the symbols (``n`` against ``n + 1``).

    TVM calls symbolic dimensions that are not equal merely unknown.
    """
    if isinstance(declared, relax.TupleType) and isinstance(computed, relax.TupleType):
        pairs = zip(declared.fields, computed.fields, strict=False)
        return any(_some_dimension_differs(left, right, analyzer) for left, right in pairs)
    left, right = _dimensions(declared), _dimensions(computed)
    if left is None or right is None or len(left) != len(right):
        return False
    return any(analyzer.can_prove(tirx.NE(a, b)) for a, b in zip(left, right, strict=True))


def _dimensions(ty: Any) -> list[Any] | None:
    shape = ty if isinstance(ty, relax.ShapeType) else getattr(ty, "shape", None)
    values = getattr(shape, "values", None)
    return None if values is None else list(values)


def _public(module: Any) -> list[Any]:
    return [
        function
        for _, function in module.functions_items()
        if isinstance(function, relax.Function)
        and function.attrs is not None
        and "global_symbol" in function.attrs
        and "Codegen" not in function.attrs  # public for the linker only: no caller of the module uses it
    ]


def _by_name(module: Any, name: str) -> Any:
    found = next((function for var, function in module.functions_items() if var.name_hint == name), None)
    return found if isinstance(found, relax.Function) else None
