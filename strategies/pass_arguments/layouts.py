"""Layouts for ConvertLayout, by the convolutions that the module has."""

from __future__ import annotations

from strategies.choices import Choices
from strategies.module_facts import Facts
from strategies.pass_arguments.names import call, strings

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
}
"""Operator -> layouts of data, weight and, where there are three, of the output."""


def convert_layout(choices: Choices, facts: Facts) -> str:
    """ConvertLayout: a map, or a callback that says the same of each call."""
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
