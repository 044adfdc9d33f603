"""Functions that call each other survive being taken apart and put together."""

from __future__ import annotations

import tvm
from recursive_sample import Mutual

from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take


def test_functions_that_call_each_other_survive_the_sketch():
    tvm.ir.assert_structural_equal(emit(take(Mutual)), Mutual)
