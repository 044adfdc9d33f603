"""Passes that read options of the ``PassContext`` (``PassContext.list_configs``), which the text of a pass carries.

Of Relax's options these are left out: ``relax.transform.apply_legalize_ops``, which only turns LegalizeOps off, and
``relax.fallback_device_type``, which no pass reads.
"""

from __future__ import annotations

from strategies.choices import Choices
from strategies.module_facts import Facts
from strategies.pass_arguments.names import Constructor, call


def with_option(text: str, option: str, value: object) -> str:
    """The text of a pass that runs with an option, by :func:`vocabulary.configured.configured`."""
    return f'configured({text}, {{"{option}": {value!r}}})'


def cuda_graph(choices: Choices, facts: Facts) -> str:
    """RewriteCUDAGraph: it acts only where the option is set, which is left out once in eight times."""
    text = call("RewriteCUDAGraph")
    return text if choices.index(8) == 7 else with_option(text, "relax.backend.use_cuda_graph", True)


def bounded_fusion(unbounded: Constructor) -> Constructor:
    """FuseOps: once in four times with a bound on the size of groups, which is 256 otherwise."""

    def draw(choices: Choices, facts: Facts) -> str:
        text = unbounded(choices, facts)
        if choices.index(4) < 3:
            return text
        return with_option(text, "relax.FuseOps.max_depth", choices.pick((1, 2, 3, 5)))

    return draw


def consuming_lift(keeping: Constructor) -> Constructor:
    """LiftTransformParams: once in eight times the lifted function lets go of each weight after its last use."""

    def draw(choices: Choices, facts: Facts) -> str:
        text = keeping(choices, facts)
        if choices.index(8) < 7:
            return text
        return with_option(text, "relax.lift_transform_params.consume_params", True)

    return draw
