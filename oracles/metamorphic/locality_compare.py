"""Comparison of a function, with everything that it reaches, in two modules up to the names of private functions.

A repro script contains the source of what it needs of this file: only TVM and the standard library are used here.
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.edits import functions_of, renamed
from relaxkit.ir.functions import symbol_of


def reached(functions: dict[str, tvm.ir.BaseFunc], root: str) -> list[str]:
    """Return the names of the functions and kernels that ``root`` reaches, itself first, in order of first use."""
    order, waiting = [root], [root]
    while waiting:
        function = functions.get(waiting.pop())
        if isinstance(function, relax.Function):
            fresh = [str(var.name_hint) for var in relax.analysis.all_global_vars(function)]
            fresh = [name for name in fresh if name not in order]
            order += fresh
            waiting += reversed(fresh)
    return order


def differing(
    original: tvm.IRModule,
    before: tvm.IRModule,
    after: tvm.IRModule,
    roots: tuple[str, ...],
    fixed: frozenset[str],
    made: bool,
) -> tuple[tvm.IRModule, tvm.IRModule] | None:
    """Return the first function that differs, with what it reaches, in both modules; ``None`` when all agree.

    Args:
        original: The module that a pass was applied to.
        before: What the pass made of it.
        after: What the pass made of the varied module.
        roots: Names of the functions that must agree.
        fixed: Names that are not the pass's to choose.
        made: Whether public functions that the pass has made (``main_adjoint``) must agree as well.
    """
    ours, theirs = functions_of(before), functions_of(after)
    new = [name for name, function in ours.items() if name not in functions_of(original) and symbol_of(function)]
    called = {callee for name in ours for callee in reached(ours, name)[1:]} if made and new else set()
    for root in (*roots, *(name for name in new if made and name not in called)):
        if root in ours and root in theirs:
            if (found := pair(before, after, root, fixed)) is not None:
                return found
        elif root in ours or root in theirs:
            return before, after
    return None


def pair(
    before: tvm.IRModule, after: tvm.IRModule, root: str, fixed: frozenset[str]
) -> tuple[tvm.IRModule, tvm.IRModule] | None:
    """Return the two modules of what ``root`` reaches, made comparable; ``None`` when they are equal.

    Names are made unique over a module, so that those of private functions may shift; ``fixed`` ones may not.
    """
    ours, theirs = _part(before, root), _part(after, root)
    if tvm_ffi.structural_equal(ours, theirs):
        return None
    ours, theirs = _canonical(before, root, fixed), _canonical(after, root, fixed)
    return None if tvm_ffi.structural_equal(ours, theirs) else (ours, theirs)


def _part(module: tvm.IRModule, root: str) -> tvm.IRModule:
    """Return the module of what ``root`` reaches."""
    functions = functions_of(module)
    order = reached(functions, root)
    return tvm.IRModule({module.get_global_var(name): functions[name] for name in order if name in functions})


def _canonical(module: tvm.IRModule, root: str, fixed: frozenset[str]) -> tvm.IRModule:
    """Return what ``root`` reaches: private functions named by the order of their first use, equal kernels as one.

    What a pass makes is one with a kernel that is equal and there already, and which of several does not matter.
    """
    functions = functions_of(module)
    order = [name for name in reached(functions, root) if name in functions]
    twins = _twins({name: _without_symbol(name, functions[name], fixed) for name in order if name not in fixed})
    kept, called = [name for name in order if name not in twins], set[str]()
    for name in kept:  # grows by what kernels call
        if isinstance(functions[name], tvm.tirx.PrimFunc):
            tvm_ffi.structural_walk(functions[name], (tvm.ir.GlobalVar, lambda var: called.add(str(var.name_hint))))
            kept += sorted(other for other in called if other in functions and other not in {*kept, *twins})
    # AttachGlobalSymbol makes a symbol of every name: what is a name only is not compared.
    items = {module.get_global_var(name): _without_symbol(name, functions[name], fixed) for name in kept}
    # SplitCallTIRByPattern makes external functions of kernels, and calls them by their symbols: those are names only.
    symbols = {str(each.global_symbol) for each in functions.values() if isinstance(each, relax.ExternFunc)} - fixed
    if symbols:
        met: dict[str, relax.ExternFunc] = {}

        def nameless(function: relax.ExternFunc) -> relax.ExternFunc:
            symbol = str(function.global_symbol)
            return met.setdefault(symbol, relax.ExternFunc(f"external.{len(met)}")) if symbol in symbols else function

        pairs = (relax.ExternFunc, nameless)
        items = {var: tvm_ffi.structural_map(function, pairs) for var, function in items.items()}
    names = {name: f"private.{index}" for index, name in enumerate(kept) if name not in fixed and name != root}
    return renamed(tvm.IRModule(items), {**names, **{twin: names.get(one, one) for twin, one in twins.items()}})


def _twins(functions: dict[str, tvm.ir.BaseFunc]) -> dict[str, str]:
    """Return the names of kernels that are equal to an earlier one, with its name."""
    first: dict[int, list[str]] = {}
    twins: dict[str, str] = {}
    for name, function in functions.items():
        if isinstance(function, tvm.tirx.PrimFunc):
            alike = first.setdefault(tvm_ffi.structural_hash(function), [])
            equal = next((one for one in alike if tvm_ffi.structural_equal(functions[one], function)), None)
            if equal is None:
                alike.append(name)
            else:
                twins[name] = equal
    return twins


def _without_symbol(name: str, function: tvm.ir.BaseFunc, fixed: frozenset[str]) -> tvm.ir.BaseFunc:
    """Return the function without a symbol that is a name only: its own, or one that it had before it got another.

    AttachAttrLayoutFreeBuffers renames kernels and leaves them the symbol that AttachGlobalSymbol made of a name.
    """
    named = symbol_of(function) not in fixed and name not in fixed
    return function.without_attr("global_symbol") if symbol_of(function) and named else function
