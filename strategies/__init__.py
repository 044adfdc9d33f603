"""Strategies: what to test. Relax modules, passes with their arguments, and pipelines, as Hypothesis strategies.

How a module is drawn: ``modules`` draws the features of the case (``scope.features``), the idioms that it shall hold
and how many functions it has; ``functions`` draws each from a plan, callees first, step by step; a step is one of the
``actions``: an operator of the table (``operators``), a construct (``constructs``), a kernel (``kernels``) or an idiom
that makes a pass act (``idioms``). All of them ask a ``scope`` for operands, of which intervals are known, and bind
calls in it, so that every module is defined for all inputs. ``seeded`` and ``seeds`` draw from modules of a collection.

Then ``detect`` reads the module, and ``passes`` draws passes that suit it, with their ``pass_arguments``.
"""

import relaxkit.compat  # noqa: F401  (first of all: it prepares the installed TVM)
from relaxkit.ir.walk import operators_of
from strategies.detect.features import features_of
from strategies.fragment import Fragment
from strategies.modules import ir_modules
from strategies.passes import module_and_passes, passes, passes_for, pipelines
from strategies.scope.features import Feature

__all__ = [
    "Feature", "Fragment", "features_of", "ir_modules", "module_and_passes", "operators_of", "passes", "passes_for",
    "pipelines",
]  # fmt: skip
