"""Arguments of the passes that choose kernels and layouts, lower to them, or read options of the ``PassContext``.

The options are those that ``PassContext.list_configs`` lists; the text of a pass carries them.  Of Relax's options two
are left out: ``relax.transform.apply_legalize_ops``, which only turns LegalizeOps off, and
``relax.fallback_device_type``, which no pass reads.
"""

from __future__ import annotations

from strategies.constructs.composites import EXTERNAL
from strategies.detect.module_facts import Facts
from strategies.kernels.table import MATCHED_SHAPE
from strategies.pass_arguments.row import call, some, strings
from strategies.scope.choices import Choices
from strategies.seeds.replacements import draw_alteration


def alter(choices: Choices, facts: Facts) -> str:
    """Draw AlterOpImpl: replacements of kernels, and the layouts that they want."""
    if not facts.replaceable:
        return call("AlterOpImpl", "{}", "{}")
    made = [(name, *draw_alteration(choices, name)) for name in choices.subset(facts.replaceable[:4])]
    kernels = ", ".join(f'"{name}": {kernel}' for name, kernel, _ in made)
    layouts = ", ".join(f'"{name}": {layout}' for name, _, layout in made)
    return call("AlterOpImpl", f"{{{kernels}}}", f"{{{layouts}}}")


def run_codegen(choices: Choices, facts: Facts) -> str:
    """Draw RunCodegen: options of the generator, and functions to start from."""
    level = f'{{"{EXTERNAL}": {{"level": {1 + choices.index(3)}}}}}' if choices.index(3) == 2 else ""
    entries = f"entry_functions={strings(choices.subset(facts.names[:12]))}" if choices.index(4) == 3 else ""
    return call("RunCodegen", level, entries)


_KERNELS = ("A(*i) + tirx.const(1.0, 'float32')", "tvm.tirx.exp(A(*i))", "A(*i) * tirx.const(2.0, 'float32')")
_FOUND = (
    'lambda found: ["", tirx.IntImm("int32", 0), []]',
    'lambda found: ["// {global_symbol}", tirx.IntImm("int32", 1), list(found[0].matched_buffers)[:-1]]',
    'lambda found: ["// {global_symbol}", tirx.IntImm("int32", len(found)), list(found[0].matched_buffers)[:-1]]',
)
"""Code generators: one that takes nothing, one that takes the first kernel's work, one that takes all that matched."""


def split(choices: Choices, facts: Facts) -> str:
    """Draw SplitCallTIRByPattern: kernels to look for, of the shape of those that are planted for it, since a pattern
    of any shape matches nothing; and what a generator takes of what is found."""
    patterns = []
    for element in choices.subset(_KERNELS) if choices.index(8) else ():
        buffer = f'tvm.te.placeholder({MATCHED_SHAPE}, "float32", name="A")'
        made = f'tvm.te.compute(A.shape, lambda *i: {element}, name="compute")'
        patterns.append(f'(lambda A: tvm.te.create_prim_func([A, {made}], index_dtype_override="int64"))({buffer})')
    return call("SplitCallTIRByPattern", f"[{', '.join(patterns)}]", choices.pick((*_FOUND, *_FOUND[1:])))


LAYOUTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "relax.nn.conv2d": (
        ("NHWC", "OHWI"),
        ("NHWC", "HWIO"),
        ("NCHW4c", "OIHW4o"),
        ("NHWC", "OHWI", "NCHW"),
        ("NCHW", "OIHW", "NHWC"),
        ("HWNC", "HWIO"),
        ("NCHW2c", "OIHW2o"),
        ("NCHW", "OIHW"),
    ),
    "relax.nn.conv1d": (("NWC", "OWI"), ("NWC", "WIO"), ("NCW4c", "OIW4o")),
    "relax.nn.conv3d": (("NDHWC", "ODHWI"), ("NDHWC", "DHWIO")),
    "relax.nn.conv2d_transpose": (("NHWC", "IHWO"), ("NHWC", "HWIO")),
    "relax.nn.conv1d_transpose": (("NWC", "IWO"), ("NWC", "WIO")),
    "relax.nn.conv3d_transpose": (("NDHWC", "IDHWO"), ("NDHWC", "DHWIO")),
    "relax.image.resize2d": (("NHWC",), ("HWNC",)),
}
"""Operator -> layouts of data, weight and, where there are three, of the output."""


def convert_layout(choices: Choices, facts: Facts) -> str:
    """Draw ConvertLayout: a map, or a callback that says the same of each call."""
    present = [name for name in LAYOUTS if name in facts.operators]
    chosen = choices.subset(present) if present else [choices.pick(tuple(LAYOUTS))]
    wanted = {name: choices.pick(LAYOUTS[name]) for name in chosen}
    table = "{" + ", ".join(f'"{name}": {strings(layouts)}' for name, layouts in wanted.items()) + "}"
    if choices.index(4) < 3:
        return call("ConvertLayout", table)
    # The map is not looked at then.
    name, layouts = next(iter(wanted.items()))
    found = f'{{"{name}": {strings(layouts)}}} if getattr(call.op, "name", "") == "{name}" else {{}}'
    return call("ConvertLayout", "{}", f"layout_cb=lambda call: {found}")


OWN: dict[str, str] = {
    "relax.add": "lambda builder, call: builder.call_te(tvm.topi.add, call.args[1], call.args[0])",
    "relax.multiply": "lambda builder, call: builder.call_te(tvm.topi.multiply, call.args[1], call.args[0])",
    "relax.negative": "lambda builder, call: builder.call_te(tvm.topi.negative, call.args[0])",
    "relax.exp": 'lambda builder, call: builder.call_te(tvm.topi.exp, call.args[0], primfunc_name_hint="own_exp")',
    "relax.nn.relu": "lambda builder, call: builder.call_te(tvm.topi.nn.relu, call.args[0])",
    "relax.tanh": "lambda builder, call: builder.call_te(tvm.topi.tanh, call.args[0])",
}
"""Operator -> text of a legalization that computes the same."""
LEAVE = "lambda builder, call: call"
"""A legalization that leaves the call as it is."""


def legalize(choices: Choices, facts: Facts) -> str:
    """Draw LegalizeOps: mostly as it is; operators that are skipped, or legalized by a function of the caller's."""
    called = sorted(facts.operators)
    way = choices.index(8)
    if not called or way < 5:
        return call("LegalizeOps")
    own = ""
    if way != 5:
        known = [name for name in called if name in OWN]
        chosen = choices.subset(known[:6]) if known else [choices.pick(called)]
        entries = [f'"{name}": {OWN.get(name, LEAVE) if choices.index(5) < 4 else LEAVE}' for name in chosen]
        own = "{" + ", ".join(entries) + "}"
    skipped = f"skip_ops={strings(choices.subset(called[:8]))}" if way in (5, 7) else ""
    return call("LegalizeOps", own, skipped, some(choices, "enable_warning=True", 6))


def with_option(text: str, option: str, value: object) -> str:
    """Return the text of a pass that runs with an option, by :func:`relaxkit.passes.helpers.configured`."""
    return f'configured({text}, {{"{option}": {value!r}}})'


def cuda_graph(choices: Choices, facts: Facts) -> str:
    """Draw RewriteCUDAGraph: it acts only where the option is set, which is left out once in eight times."""
    text = call("RewriteCUDAGraph")
    return text if choices.index(8) == 7 else with_option(text, "relax.backend.use_cuda_graph", True)


def bounded_fusion(choices: Choices, facts: Facts) -> str:
    """Draw FuseOps: a level, and once in four times a bound on the size of groups, which is 256 otherwise."""
    text = call("FuseOps", choices.pick(("", *(f"fuse_opt_level={level}" for level in range(5)))))
    if choices.index(4) < 3:
        return text
    return with_option(text, "relax.FuseOps.max_depth", choices.pick((1, 2, 3, 5)))


def tune(choices: Choices, facts: Facts) -> str:
    """Draw MetaScheduleApplyDatabase: with records that split loops, perhaps behind a pass that tunes."""
    factor, tuner = 2 + choices.index(3), choices.pick(("", "", ', "relax"', ', "tir"'))
    return _module_pass(f"tuned(mod, {factor}{tuner})", "MetaScheduleApplyDatabase")


def _module_pass(body: str, name: str) -> str:
    return f'tvm.transform.module_pass(lambda mod, _: {body}, opt_level=0, name="{name}")'


def attach_symbol(choices: Choices, facts: Facts) -> str:
    """Draw AttachGlobalSymbol: once in four times for a module that is to become a system library."""
    text = call("AttachGlobalSymbol")
    if choices.index(4) < 3:
        return text
    return _module_pass(f'{text}(mod.with_attr("system_lib_prefix", "lib_"))', "AttachGlobalSymbol")


def relay(choices: Choices, facts: Facts) -> str:
    """Draw suggest_layout_transforms: how the results of all kernels are laid out."""
    layout = choices.pick(("reversed", "packed", "rotated"))
    return _module_pass(f'relaid(mod, "{layout}")', "suggest_layout_transforms")


_TEXTURES = 'tvm.target.Target("qcom/adreno-opencl-texture")'
_KEPT = '["relax.nn.conv2d", "relax.nn.max_pool2d", "relax.nn.adaptive_avg_pool2d"]'
_LAID_OUT = (
    'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o", "NCHW4c"]}), relax.transform.Normalize()'
)
_TO_TEXTURES = (
    f"{_LAID_OUT}, relax.transform.FoldConstant(), relax.transform.LegalizeOps(skip_ops={_KEPT})",
    "relax.transform.LegalizeOps()",
)
"""What stands before AnnotateCustomMemoryScope in the pipeline of Adreno (``tvm.relax.backend.adreno.pipeline``), and
what is needed of it for kernels alone."""
_FROM_TEXTURES = (
    "relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(), "
    "relax.transform.FuseTIR(), relax.transform.DeadCodeElimination(), "
    "relax.backend.adreno.transform.FoldVDeviceScopeChange(), relax.transform.DeadCodeElimination(), "
    "relax.transform.SpecializePrimFuncBasedOnCallSite()"
)
"""What stands behind it there, without the kernels for that device."""


def textures(choices: Choices, facts: Facts) -> str:
    """Draw AnnotateCustomMemoryScope with what the pipeline of Adreno runs before it, and perhaps behind it."""
    before = _TO_TEXTURES[0] if any("conv2d" in name for name in facts.calls) else choices.pick(_TO_TEXTURES)
    behind = f", {_FROM_TEXTURES}" if choices.index(2) else ""
    own = call("AnnotateCustomMemoryScope", _TEXTURES)
    return f"tvm.transform.Sequential([{before}, relax.transform.AnnotateTIROpPattern(), {own}{behind}])"
