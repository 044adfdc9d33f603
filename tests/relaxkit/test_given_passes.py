"""The text by which another process builds a pass that was given as an object."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax

from relaxkit.passes.pass_ref import PassReferenceError
from relaxkit.passes.render import text_of_pass


class _Idle:
    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        return func


@relax.transform.function_pass(opt_level=0)
class Matching(_Idle):
    """Has no parameters, and a pattern, which never equals another one."""

    def __init__(self) -> None:
        self.pattern = relax.dpl.wildcard()


@relax.transform.function_pass(opt_level=0)
class Bounded(_Idle):
    def __init__(self, bound: int = 4) -> None:
        self.bound = bound


@relax.transform.function_pass(opt_level=0)
class Chosen(_Idle):
    def __init__(self, pattern: Any = None) -> None:
        self.pattern = pattern or relax.dpl.wildcard()


@pytest.mark.parametrize("kind", [Matching, Bounded])
def test_a_pass_that_was_built_without_arguments_is_named_by_its_class(kind: Any) -> None:
    ref = text_of_pass(kind())
    assert ref.expression.endswith(f":{ref.name}")
    assert isinstance(ref.build(), tvm.ir.transform.Pass)


@pytest.mark.parametrize("given", [lambda: Bounded(5), lambda: Chosen()])
def test_one_that_may_have_been_built_with_arguments_is_not(given: Any) -> None:
    with pytest.raises(PassReferenceError, match=r"may have been built with arguments, .*\(module, \".*\(\.\.\.\)\"\)"):
        text_of_pass(given())
