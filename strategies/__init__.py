"""Strategies: what to test. Relax modules, passes with their arguments, and pipelines, as Hypothesis strategies."""

import releases  # noqa: F401  (first of all: it prepares the installed TVM)
from strategies.detect import features_of, operators_of
from strategies.features import Feature
from strategies.modules import ir_modules
from strategies.passes import DrawnPass, module_and_passes, passes, passes_for, pipelines

__all__ = [
    "DrawnPass",
    "Feature",
    "features_of",
    "ir_modules",
    "module_and_passes",
    "operators_of",
    "passes",
    "passes_for",
    "pipelines",
]
