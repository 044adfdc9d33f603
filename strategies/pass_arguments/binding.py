"""Arguments that name parameters, symbolic dims and functions of the module, or say what becomes of parameters."""

from __future__ import annotations

import re

from strategies.constructs.differentiable import draw_gradient
from strategies.detect.module_facts import Facts, Parameter, array_text
from strategies.pass_arguments.lowering import with_option
from strategies.pass_arguments.row import Constructor, call, some, strings
from strategies.scope.choices import Choices


def bind_params(choices: Choices, facts: Facts) -> str:
    """Draw BindParams: some parameters of a public function, as arrays of NumPy or of TVM."""
    able = [f for f in facts.functions if _bindable(f.parameters)]
    if not able:
        return call("BindParams", f'"{facts.names[0]}"', "{}")
    if "many_weights" in facts.idioms:
        function = max(able, key=lambda each: len(each.parameters))
        bound = _bindable(function.parameters)
    else:
        function = choices.pick(able)
        bound = choices.subset(_bindable(function.parameters)[:12])
    size = 1 + choices.index(4)
    made = choices.index(3) == 2
    texts = [array_text(parameter, size, choices.index(4)) for parameter in bound]
    texts = [f"tvm.runtime.tensor({text})" if made else text for text in texts]
    if choices.index(4) == 3:
        return _by_variable(function.name, bound, texts)
    entries = [f'"{parameter.name}": {text}' for parameter, text in zip(bound, texts, strict=True)]
    return call("BindParams", f'"{function.name}"', f"{{{', '.join(entries)}}}")


def _by_variable(function: str, bound: list[Parameter], texts: list[str]) -> str:
    """Draw the same with variables for keys, which the text looks up in the module that the pass is applied to.

    One that a pass before it has bound is no parameter there any more, and the others keep their arrays.
    """
    items = ", ".join(f'("{parameter.name}", {text})' for parameter, text in zip(bound, texts, strict=True))
    binding = f'{{p: v for p in mod["{function}"].params for n, v in [{items}] if p.name == n}}'
    inner = call("BindParams", f'"{function}"', binding)
    return f'tvm.transform.module_pass(lambda mod, ctx: {inner}(mod), opt_level=0, name="BindParams")'


def _bindable(parameters: tuple[Parameter, ...]) -> list[Parameter]:
    """Return those of known shape whose name means one parameter of the function."""
    names = [p.name for p in parameters]
    return [p for p in parameters if None not in p.dims and names.count(p.name) == 1]


def bind_symbols(choices: Choices, facts: Facts) -> str:
    """Draw BindSymbolicVars: some dims, defined by parameters or by a ``match_cast``, as numbers.

    Not of functions that the module calls itself: with other dims than the bound ones, the calls would be wrong.
    """
    able = [f for f in facts.functions if (f.symbols or f.cast_symbols) and not f.called]
    if not able:
        return call("BindSymbolicVars", "{}", f'"{facts.names[0]}"')
    function = choices.pick(able)
    # Bound in all functions that have such symbols, where none of them is called.
    whole = len(able) == facts.relax_functions and choices.index(4) == 3
    known = tuple(dict.fromkeys(name for each in able for name in each.symbols)) if whole else function.symbols
    if function.cast_symbols and (not known or choices.index(4) == 3):
        known = (*known, *function.cast_symbols)
    bound = choices.subset(known[:12])
    entries = []
    for name in bound:
        number = str(1 + choices.index(4))
        value = number if choices.index(4) < 3 else f'tirx.IntImm("int64", {number})'
        entries.append(f'"{name}": {value}')
    if choices.index(16) == 15:
        entries.append('"no_such_dim": 2')
    where = f'"{function.name}"' if not whole and (facts.relax_functions > 1 or choices.index(2)) else ""
    if not function.cast_symbols and choices.index(4) == 3:
        return _by_dim(where, entries)
    return call("BindSymbolicVars", f"{{{', '.join(entries)}}}", where)


def _by_dim(where: str, entries: list[str]) -> str:
    """Draw the same with symbolic dims for keys, which the text looks up in the module that the pass is applied to."""
    items = ", ".join(f"({entry.replace(': ', ', ', 1)})" for entry in entries)
    functions = f"[mod[{where}]]" if where else "mod.functions.values()"
    every = f"for f in {functions} if isinstance(f, relax.Function)"
    dims = f"[v {every} for v in relax.analysis.defined_symbolic_vars(f)]"
    binding = f"{{v: n for v in {dims} for k, n in [{items}] if v.name == k}}"
    inner = call("BindSymbolicVars", binding, where)
    return f'tvm.transform.module_pass(lambda mod, ctx: {inner}(mod), opt_level=0, name="BindSymbolicVars")'


def one_function(name: str) -> Constructor:
    """Return a pass on all functions, or on one that is named."""
    return lambda choices, facts: call(name, f'"{choices.pick(facts.names)}"' if choices.index(2) else "")


def dead_code(choices: Choices, facts: Facts) -> str:
    """Draw DeadCodeElimination: from all public functions, or from some."""
    return call("DeadCodeElimination", strings(choices.subset(facts.names[:12])) if choices.index(2) else "")


def lift(choices: Choices, facts: Facts) -> str:
    """Draw LiftTransformParams: a transform for each function, one for all, or one for some.

    Once in eight times the lifted function lets go of each weight after its last use.
    """
    weighted = [f.name for f in facts.functions if f.num_input >= 0]
    way = choices.index(4) if weighted else 0
    text = call("LiftTransformParams")
    if way == 2:
        text = call("LiftTransformParams", "shared_transform=True")
    if way == 3:
        text = call("LiftTransformParams", f"shared_transform={strings(choices.subset(weighted[:12]))}")
    return with_option(text, "relax.lift_transform_params.consume_params", True) if choices.index(8) == 7 else text


def lazy_transform(choices: Choices, facts: Facts) -> str:
    """Draw LazyTransformParams: under other names, with what callbacks get besides, or without setting results."""
    way = choices.index(6)
    if way == 4:
        return call("LazyTransformParams", 'fget_item="take_weight"', 'fset_item="give_weight"')
    if way == 5:
        rank = '[relax.Var("rank", tvm.ir.PrimType("int64"))]'
        return call(
            "LazyTransformParams", f"extra_get_item_params={rank}", some(choices, f"extra_set_item_params={rank}", 2)
        )
    return call("LazyTransformParams", "fset_item=None" if way == 3 else "")


def mixed_precision(choices: Choices, facts: Facts) -> str:
    """Draw ToMixedPrecision: dtype of results, and parameters that become float16."""
    out = f'out_dtype="{choices.pick(("float32", "float16"))}"'
    # A name is one of all functions: a parameter of another dtype that bears it would become float16 as well.
    named = (p.name for f in facts.functions for p in f.parameters if p.dtype == "float32")
    floats = [name for name in named if name not in facts.not_single]
    if floats and choices.index(4) == 3:
        chosen = dict.fromkeys(choices.subset(floats[:6]))
        return call("ToMixedPrecision", out, f"fp16_input_names={strings(chosen)}")
    return call("ToMixedPrecision", out)


_TENSOR = "isinstance(var.ty, relax.TensorType)"
_SHAPED = f"{_TENSOR} and isinstance(var.ty.shape, relax.ShapeExpr)"


def _retyped(dtype: str, to: str) -> str:
    return f'lambda var: relax.TensorType(var.ty.shape, "{to}") if {_SHAPED} and var.ty.dtype == "{dtype}" else None'


_UPDATES = (
    "lambda var: None",
    _retyped("float32", "float16"),
    "lambda var: var.ty",
    _retyped("float32", "float64"),
    _retyped("int32", "int64"),
    f"lambda var: relax.TensorType(dtype=var.ty.dtype, ndim=var.ty.ndim) if {_SHAPED} and var.ty.ndim == 2 else None",
)


def update_types(choices: Choices, facts: Facts) -> str:
    """Draw UpdateParamType: nothing, the same types, another dtype, or the rank alone."""
    return call("UpdateParamType", choices.pick(_UPDATES))


def update_device(choices: Choices, facts: Facts) -> str:
    """Draw UpdateVDevice: another device of the same kind in place of one of the table's."""
    index = choices.index(max(1, facts.vdevices))
    return call("UpdateVDevice", f'relax.VDevice("llvm", {choices.index(3)}, "global")', str(index))


_LOSSES = ("L1Loss", "MSELoss")


def append_loss(choices: Choices, facts: Facts) -> str:
    """Draw AppendLoss: a loss of the function's first output, whose type it takes as it is."""
    # A difference of floats of eight bits has no absolute value: legalization says so.
    able = [f for f in facts.functions if f.outputs and re.match(r"b?float\d\d", f.outputs[0].dtype)]
    loss, reduction = choices.pick(_LOSSES), choices.pick(("sum", "mean"))
    if able:
        function = choices.pick(able)
        name, output = function.name, function.outputs[0]
        if re.search(r"\b0\b", str(output.dims)):
            reduction = "sum"  # legalization divides by the number of elements: its defect, whoever asks for a mean
        ty = f'relax.TensorType({output.dims}, "{output.dtype}")'
    else:
        name, ty = facts.names[0], 'relax.TensorType((), "float32")'
    named = some(choices, f'new_func_name="{name}_trained"', 3)
    way = f'relax.training.loss.{loss}("{reduction}")'
    return call("AppendLoss", f'"{name}"', f"{way}({ty}, {ty})", named)


_PRODUCT = (
    'tvm.register_global_func("tvm.relax.te_grad._register.product", lambda _, call, given, ctx: ctx.emit_te('
    "lambda g, a, b, scale=1.0: [tvm.topi.multiply(g, b), tvm.topi.multiply(g, a)], given, *call.args[1], "
    'primfunc_name_hint="product_grad", **call.attrs.te_grad_kwargs), override=True)'
)


def gradient(choices: Choices, facts: Facts) -> str:
    """Draw Gradient, behind what registers the gradient of a kernel where the module calls one that has it."""
    text = draw_gradient(choices, facts.losses, facts.names)
    return f"[{_PRODUCT}, {text}][1]" if facts.calls["call_tir_with_grad"] else text
