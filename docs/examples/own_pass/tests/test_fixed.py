"""Green: the pass after its author has read what ``test_buggy.py`` says."""

from hypothesis import given
from mycompiler.clips import LowerClip

from relaxfuzz import check, ir_modules


@given(ir_modules(operators={"relax.clip": 3}))
def test_lower_clip(module):
    check(module, LowerClip())
