"""Functions of TVM as passes that users make of them: analyses of a function, inlining, functions of a block."""

from __future__ import annotations

from strategies.detect.module_facts import Facts
from strategies.scope.choices import Choices

_OF_FUNCTIONS = (
    "free_vars", "bound_vars", "all_vars", "used_vars", "all_global_vars", "free_symbolic_vars",
    "defined_symbolic_vars", "computable_at_compile_time", "contains_impure_call", "get_var2val", "name_to_binding",
    "remove_all_unused", "check_well_formed",
)  # fmt: skip
_OF_TYPES = (
    "get_static_type", "erase_to_well_defined", "tir_vars_in_type", "definable_tir_vars_in_type",
    "collect_non_negative_expressions",
)  # fmt: skip
_PARSED = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor("float32", ndim=1):
        m = T.int64()

        @R.function
        def loop(flag: R.Tensor((), "bool"), state: R.Tensor("float32", ndim=1)) -> R.Tensor("float32", ndim=1):
            if flag:
                made: R.Tensor("float32", ndim=1) = loop(flag, state)
            else:
                with R.dataflow():
                    made = R.negative(state)
                    R.output(made)
            return made

        if flag:
            cast = R.match_cast(x, R.Tensor((m,), "float32"))
            end = R.add(cast, cast)
        else:
            end = loop(flag, x)
        return end
"""
_QUESTIONS = (
    *(f"relax.analysis.{name}(f)" for name in _OF_FUNCTIONS),
    *(f"[relax.analysis.{name}(v.ty) for v in relax.analysis.all_vars(f)]" for name in _OF_TYPES),
    "[relax.analysis.udchain(k) for k in f.body.blocks if isinstance(k, relax.DataflowBlock)]",
    "[relax.analysis.has_reshape_pattern(k) for k in mod.functions.values() if isinstance(k, tirx.PrimFunc)]",
    "relax.analysis.detect_recursion(mod)",
    "relax.analysis.post_order_visit(f, str)",
    "[v.ty._relax_script() for v in relax.analysis.all_vars(f)]",
    "[part.script(show_all_ty=False) for part in (f, *f.body.blocks)]",
    "[v[0] for v in relax.analysis.all_vars(f) if isinstance(v.ty, relax.TensorType)]",
    'relax.analysis.contains_impure_call(f, relax.Var("own", f.ty))',
    'tvm.IRModule({"outside": relax.ExternFunc("outside", f.ty)}).script()',
    "relax.PackedFuncType().script()",
    (
        "[relax.distributed.DTensorType(v.ty, relax.distributed.DeviceMesh((2, 2), [0, 1, 2, 3]), "
        'relax.distributed.Placement.from_text("S[0], R")).script() for v in relax.analysis.all_vars(f) '
        "if isinstance(v.ty, relax.TensorType) and v.ty.ndim > 0]"
    ),
    (
        "(lambda a: relax.analysis.suggest_layout_transforms(tvm.te.create_prim_func([a, *tvm.topi.split(a, 2)]), "
        '[lambda i, j: (j, i)] * 2))(tvm.te.placeholder((4, 6), "float32", name="a"))'
    ),
    f"tvm.script.from_source({_PARSED!r})",
)


def ask(choices: Choices, facts: Facts) -> str:
    """Draw a question."""
    question = choices.pick(_QUESTIONS)
    return f'relax.transform.function_pass(lambda f, mod, _: [{question}, f][1], opt_level=0, name="analysis")'


_COPIED = "relax.VarBinding(b.var, b.value) if isinstance(b, relax.VarBinding) else b"
_AGAIN = 'relax.VarBinding(relax.DataflowVar("again", b.var.ty), b.value)'
_BLOCKS = (
    "list(block.bindings)",
    f"[{_COPIED} for b in block.bindings]",
    f"[*block.bindings, *({_AGAIN} for b in block.bindings[-1:] if isinstance(b, relax.VarBinding))]",
)
"""Bindings of a block that computes the same: its own, copies of them, one more that nothing uses."""


def in_blocks(choices: Choices, facts: Facts) -> str:
    """Draw dataflowblock_pass."""
    made = choices.pick(_BLOCKS)
    body = f"relax.DataflowBlock({made})"
    return f'relax.transform.dataflowblock_pass(lambda block, mod, _: {body}, opt_level=0, name="dataflowblock_pass")'


def inline(choices: Choices, facts: Facts) -> str:
    """Draw inline_functions: all functions that are called and not recursive, by name or variable, seldom by both."""
    keys = "v.name_hint, v" if choices.index(8) == 7 else choices.pick(("v.name_hint,", "v,"))
    recursive = "[v for group in relax.analysis.detect_recursion(mod) for v in group]"
    called = f"v in relax.analysis.all_global_vars(f) if isinstance(mod[v], relax.Function) and v not in {recursive}"
    body = f"f.inline_functions({{key: mod[v] for {called} for key in ({keys})}})"
    return f'relax.transform.function_pass(lambda f, mod, _: {body}, opt_level=0, name="inline_functions")'


def mutate(choices: Choices, facts: Facts) -> str:
    """Draw ApplyEmptyCppMutator, by its name in the registry: TVM does not import the Python module of its own."""
    return 'tvm.get_global_func("relax.testing.transform.ApplyEmptyCppMutator")()'
