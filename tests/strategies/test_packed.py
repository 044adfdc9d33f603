from __future__ import annotations

import tvm
import tvm_ffi
from drawing import drawn
from tvm import relax

from strategies import Feature, ir_modules
from strategies.constructs.impure import COPY


def test_packed_functions_are_registered_in_every_process_and_several_are_drawn():
    names = set()

    def visit(expr):
        packed = ("relax.call_pure_packed", "relax.call_dps_packed")
        if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op) and expr.op.name in packed:
            names.add(str(expr.args[0].global_symbol))

    for module in drawn(ir_modules(demand=[Feature.PACKED_CALLS], forbid=[Feature.EXTERNAL_CODEGEN]), 60):
        for function in module.functions.values():
            if isinstance(function, relax.Function):
                relax.analysis.post_order_visit(function, visit)
    drawn_names = {name for name in names if name.startswith(("vm.builtin", "relax.run", "runtime"))}
    assert COPY in drawn_names
    assert len(drawn_names) >= 4
    for name in drawn_names:
        assert tvm_ffi.get_global_func(name) is not None
