"""Write docs/drawing-modules.md: every option of ``ir_modules`` and every feature, each with an example.

python docs/generator/drawing_modules.py > docs/drawing-modules.md
"""

from __future__ import annotations

import inspect
import re

from strategies import Feature, ir_modules
from strategies.scope.features import REQUIRES

EXAMPLES = {
    "demand": "ir_modules(demand=[Feature.IF])",
    "forbid": "ir_modules(forbid=[Feature.RECURSION, Feature.VDEVICE])",
    "max_functions": "ir_modules(max_functions=1)",
    "max_bindings": "ir_modules(max_bindings=4)",
    "executable": "ir_modules(executable=True)",
    "operators": 'ir_modules(operators={"relax.split": 5, "relax.concat": 2})',
    "plant": "ir_modules(plant=lambda x: relax.op.negative(relax.op.negative(x)))",
}

FEATURES = {
    Feature.SYMBOLIC_SHAPES: 'tensors with symbolic shapes: `R.Tensor(("n", 4), "float32")`',
    Feature.MATCH_CAST: "`R.match_cast`",
    Feature.SHAPE_EXPRESSIONS: "dims computed from other dims: `n * 2 + 1`",
    Feature.UNKNOWN_SHAPES: 'tensors whose rank is known but whose shape is not: `R.Tensor(dtype="float32", ndim=2)`',
    Feature.VAGUE_TYPES: "variables declared with a less precise type than their values have, and `R.match_cast` back",
    Feature.VAGUE_OPERANDS: "operands declared without a shape, rank or dtype; such modules are not executed",
    Feature.DISTRIBUTED: "functions on distributed tensors (`R.DTensor`), or on tensors under `R.dist.annotate_sharding`",
    Feature.SHAPE_PARAMS: "parameters of type `R.Shape`",
    Feature.PRIM_PARAMS: "scalar parameters, `R.Prim`",
    Feature.UPPER_BOUNDS: "the function attribute `tir_var_upper_bound`",
    Feature.IF: "branches: `if cond:`",
    Feature.TUPLES: "tuples that are created, passed on and unpacked",
    Feature.NESTED_TUPLES: "nested tuples",
    Feature.CONSTANTS: "constants: `R.const(...)`, and the module's metadata",
    Feature.ORDINARY_BLOCKS: "bindings outside `with R.dataflow():`",
    Feature.MULTIPLE_FUNCTIONS: "more than one Relax function",
    Feature.PRIVATE_CALLS: "calls to private functions",
    Feature.LOCAL_FUNCTIONS: "functions inside functions",
    Feature.KERNELS: "`R.call_tir` calls to kernels (`T.prim_func`)",
    Feature.VDEVICE: "virtual devices in `global_infos`",
    Feature.DEVICE_HINTS: "`R.hint_on_device`, `R.to_vdevice`",
    Feature.COMPOSITE: "functions with the attribute `Composite`",
    Feature.CODEGEN: "functions with the attribute `Codegen`",
    Feature.WEIGHTS: "the attribute `num_input`: the parameters after that number are weights",
    Feature.STOP_LIFT: "`R.builtin.stop_lift_params`",
    Feature.NON_EXECUTABLE: "operators that no CPU build can execute",
    Feature.HALF: "float16",
    Feature.DOUBLE: "float64",
    Feature.INTEGERS: "integer tensors",
    Feature.BOOLEANS: "bool tensors",
    Feature.EMPTY_TENSORS: "dims of length 0",
    Feature.DEAD_CODE: "bindings that nothing uses",
    Feature.DUPLICATE_CODE: "the same call twice, and calls that differ in one operand or in attributes",
    Feature.ALIASES: "`y = x`",
    Feature.LOW_PRECISION: "bfloat16 and float8",
    Feature.LARGE_TENSORS: "dims larger than usual",
    Feature.DEEP_CALLS: "chains of calls through several functions",
    Feature.RECURSION: "functions that call themselves or each other",
    Feature.CAPTURES: "local functions that capture variables",
    Feature.RETURNED_CLOSURES: "functions that return functions",
    Feature.NESTED_CLOSURES: "nested local functions",
    Feature.MADE_CLOSURES: "`R.make_closure` and `R.invoke_closure`",
    Feature.IMPURE_CALLS: "impure calls: `R.print`, `R.assert_op`",
    Feature.PACKED_CALLS: "`R.call_packed`, `R.call_pure_packed`, `R.call_dps_packed`",
    Feature.MODULE_ATTRS: "module attributes",
    Feature.FUNCTION_ATTRS: "function attributes that no pass recognizes",
    Feature.KERNEL_OUTPUTS: "kernels with several outputs",
    Feature.SYMBOLIC_KERNELS: "kernels with symbolic shapes",
    Feature.INPLACE_KERNELS: "`R.call_tir_inplace`",
    Feature.DRAWN_KERNELS: "kernels generated at random, loop by loop",
    Feature.EXTERNAL_CODEGEN: "calls to the output of a code generator",
    Feature.LOWERED: "the output of lowering: allocations, destination-passing calls",
    Feature.NESTED_IF: "nested branches",
    Feature.SEVERAL_BLOCKS: "several dataflow blocks in one function",
    Feature.CAST_SYMBOLS: "dims that a `match_cast` defines",
    Feature.SHAPE_SYMBOLS: "dims that a parameter of type `R.Shape` defines",
    Feature.DATA_DEPENDENT: "shapes that depend on values: `R.nonzero`, `R.unique`",
    Feature.UNUSED_PARAMETERS: "parameters that nothing uses",
    Feature.UNUSED_OUTPUTS: "outputs that no caller uses",
    Feature.SEVERAL_VDEVICES: "tensors on more than one virtual device",
}

PAGE = """\
# Generating modules for your pass

A test reports how much it judged: `25 modules judged, 4 of them changed by the pass, 83 operators covered`. If the pass changed only a few
modules, describe the modules that it acts on. Import all names on this page from `relaxfuzz`.

```python
from hypothesis import given
from tvm import relax

from relaxfuzz import Feature, Fragment, check, ir_modules


@given(ir_modules(demand=[Feature.CONSTANTS], operators={{"relax.matmul": 5}}))
def test_my_pass(module):
    check(module, MyPass())
```

## Options

| option | example | meaning |
|---|---|---|
{options}

TVM cannot build modules with operands of unknown shape, rank or dtype, so they are not executed. relaxfuzz compares their results only by
proof or with its interpreter. It counts results that agree, but does not report results that differ, because no script could reproduce the
difference. To generate only executable modules, write `ir_modules(operators=..., executable=True)`.

A planted function takes one float32 tensor of shape (2, 3). For operands of another shape or dtype, or for several operands, use
`Fragment`:

```python
def projection(x, weight):
    return relax.op.nn.relu(relax.op.matmul(x, weight))


ir_modules(plant=Fragment(projection, shapes=((2, 3), (3, 4)), dtype="float16"))
```

`shapes` is a tuple of shapes, so a single tensor is `shapes=((2, 3, 4),)`. relaxfuzz passes parameters, constants or filled tensors. If
there are several operands, half of the time one of them is a constant filled with 0, 1, 2, -1 or 0.5. `constants` lists the places of
operands that must be constants; their values are random. The following plants the product of a tensor, a scalar and a row:

```python
def scaled_twice(x, first, second):
    return relax.op.multiply(relax.op.multiply(x, first), second)


ir_modules(plant=Fragment(scaled_twice, shapes=((2, 3), (), (3,)), constants=(1, 2)))
```

Random code surrounds the planted code, and uses its result.

## Features

`demand` and `forbid` take features. relaxfuzz decides for each module which of the other features to enable; the column "odds" gives the
probability. Demanding a feature also enables the features that it requires.

| feature | example | adds to a module | odds | requires |
|---|---|---|---|---|
{features}

## A campaign

`relaxfuzz run --pass FILE.py:FACTORY --operators relax.permute_dims=30` generates an operator more often in a campaign. In a configuration
file, write `operators = ["relax.permute_dims=30"]`. `--operators auto` selects the operators that are named in the source of your passes,
or in code of your project that they call. If there are none, it selects the operators that are named in the file of the pass. If there are
none there either, it selects those in the files of your project that this file imports. If it still finds none, no operator is generated
more often. The operators are looked up when the campaign starts, so the selection follows your changes to the pass. `relaxfuzz init` writes
`operators = "auto"` into the configuration, and writes a test that does the same with `ir_modules(operators="FILE.py:FACTORY")`.

`--plant FILE.py:projection` inserts your code: a function of one float32 tensor of shape (2, 3), or a `Fragment` assigned to a name in the
file. You can resume a campaign only with the same weights and the same planted code.

`features_of(module)` returns the features of a module, and `operators_of(module)` its operators. `relaxfuzz ops` lists the operators that
relaxfuzz generates.
"""


def page() -> str:
    """Return the page."""
    about = inspect.cleandoc(ir_modules.__doc__ or "").partition("Args:\n")[2].partition("\n\nRaises")[0]
    meanings = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", about, re.MULTILINE))
    options = [
        f"| `{name}` | `{EXAMPLES[name]}` | {' '.join(meanings[name].replace('``', '`').split())} |"
        for name in inspect.signature(ir_modules).parameters
    ]
    features = [
        f"| `{feature.name}` | `demand=[Feature.{feature.name}]` | {FEATURES[feature]} | {feature.odds / 64:.0%} "
        f"| {', '.join(f'`{each.name}`' for each in REQUIRES.get(feature, ()))} |"
        for feature in Feature
    ]
    return PAGE.format(options="\n".join(options), features="\n".join(features))


if __name__ == "__main__":
    print(page(), end="")
