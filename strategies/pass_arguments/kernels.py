"""Arguments that are kernels, code generators and what they are told."""

from __future__ import annotations

from strategies.choices import Choices
from strategies.composites import EXTERNAL
from strategies.module_facts import Facts
from strategies.pass_arguments.names import call, strings
from strategies.replacements import draw_alteration


def alter(choices: Choices, facts: Facts) -> str:
    """AlterOpImpl: replacements of kernels, and the layouts that they want."""
    if not facts.replaceable:
        return call("AlterOpImpl", "{}", "{}")
    made = [(name, *draw_alteration(choices, name)) for name in choices.subset(facts.replaceable[:4])]
    kernels = ", ".join(f'"{name}": {kernel}' for name, kernel, _ in made)
    layouts = ", ".join(f'"{name}": {layout}' for name, _, layout in made)
    return call("AlterOpImpl", f"{{{kernels}}}", f"{{{layouts}}}")


def run_codegen(choices: Choices, facts: Facts) -> str:
    """RunCodegen: options of the generator, and functions to start from."""
    level = f'{{"{EXTERNAL}": {{"level": {1 + choices.index(3)}}}}}' if choices.index(3) == 2 else ""
    entries = f"entry_functions={strings(choices.subset(facts.names[:12]))}" if choices.index(4) == 3 else ""
    return call("RunCodegen", level, entries)


_KERNELS = ("tvm.tirx.exp(A(*i))", "tvm.tirx.tanh(A(*i))", "A(*i) + A(*i)")


def split(choices: Choices, facts: Facts) -> str:
    """SplitCallTIRByPattern: kernels to look for, and a generator that takes none of what is found."""
    patterns = []
    for element in choices.subset(_KERNELS) if choices.index(4) else ():
        dims = ", ".join(f'tirx.Var("d{axis}", "int64")' for axis in range(1 + choices.index(3)))
        buffer = f'tvm.te.placeholder(({dims},), "float32", name="A")'
        made = f'tvm.te.create_prim_func([A, tvm.te.compute(A.shape, lambda *i: {element}, name="compute")])'
        patterns.append(f"(lambda A: {made})({buffer})")
    return call("SplitCallTIRByPattern", f"[{', '.join(patterns)}]", 'lambda found: ["", 0, []]')
