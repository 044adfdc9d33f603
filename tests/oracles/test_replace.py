"""Constants and names of kernels are replaced, and nothing else changes."""

from __future__ import annotations

import numeric_samples as samples
import sample_modules
import tvm
import tvm_ffi
from tvm import relax

from relaxkit.runtime.compile.constants import normalized, with_own_constants, with_symbols
from relaxkit.runtime.compile.kernels import KernelCache
from relaxkit.runtime.compile.lowering import lower


def constants(module):
    found = []
    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(
                function, lambda expr: found.append(expr) if isinstance(expr, tvm.ir.GenericConst) else None
            )
    return found


def test_constants_are_copied_and_shared_ones_stay_shared():
    shared = relax.const([1.0, 2.0], "float32")
    bb = relax.BlockBuilder()
    x = samples.var("x", (2,))
    with bb.function("main", [x]):
        first = bb.emit(relax.op.add(x, shared))
        bb.emit_func_output(bb.emit(relax.op.multiply(first, shared)))
    module = bb.get()
    owned = with_own_constants(module, range(len(module.functions)))
    assert tvm_ffi.structural_equal(owned, module)
    mine, theirs = constants(owned), constants(module)
    assert len({each.value.__chandle__() for each in mine}) == 1
    assert not {each.value.__chandle__() for each in mine} & {each.value.__chandle__() for each in theirs}


def test_kernels_are_renamed_as_tvm_renames_them():
    lowered = lower(sample_modules.MODULES["kernels"]())
    symbols = {
        gv.name_hint: f"kernel_{gv.name_hint}_new"
        for gv, function in lowered.functions.items()
        if not isinstance(function, relax.Function)
    }
    assert symbols
    renamed = with_symbols(lowered, symbols)
    assert tvm_ffi.structural_equal(renamed, normalized(lowered, symbols))
    assert set(symbols.values()) <= {gv.name_hint for gv in renamed.functions}
    assert with_symbols(lowered, {name: name for name in symbols}).same_as(lowered)


def test_what_is_not_in_the_table_keeps_its_name():
    lowered = lower(sample_modules.MODULES["kernels"]())
    name = next(gv.name_hint for gv, f in lowered.functions.items() if isinstance(f, tvm.tirx.PrimFunc))
    renamed = with_symbols(lowered, {name: "other"})
    names = {gv.name_hint for gv in lowered.functions}
    assert {gv.name_hint for gv in renamed.functions} == names - {name} | {"other"}


def test_a_kernel_that_has_its_new_name_is_taken_as_it_is():
    cache = KernelCache(None)
    lowered = lower(sample_modules.MODULES["kernels"]())
    kernels = {gv.name_hint: f for gv, f in lowered.functions.items() if isinstance(f, tvm.tirx.PrimFunc)}
    assert kernels
    symbols = {name: cache.symbol(function) for name, function in kernels.items()}
    named = {name: cache.named(function)[1] for name, function in kernels.items()}
    renamed = with_symbols(lowered, symbols, named)
    assert tvm_ffi.structural_equal(renamed, with_symbols(lowered, symbols))
    # The same object again for a function that differs by its name alone.
    for name, function in kernels.items():
        symbol, again = cache.named(function.with_attr("global_symbol", "other"))
        assert (symbol, str(again.attrs["global_symbol"])) == (symbols[name], symbols[name])
        assert again.same_as(named[name])
