"""Red on purpose: this is how relaxfuzz shows what is wrong with the pass."""

from hypothesis import given
from mycompiler.clips import BuggyLowerClip

from relaxfuzz import check, ir_modules


@given(ir_modules(operators={"relax.clip": 3}))
def test_buggy_lower_clip(module):
    check(module, BuggyLowerClip())
