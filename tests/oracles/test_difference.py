from __future__ import annotations

import buggy_passes as buggy
import sample_modules as samples
import tvm

from relaxkit.ir.equality import describe, text_difference


def test_equal_modules_have_no_description() -> None:
    assert describe(samples.dataflow(), samples.dataflow()) == ""


def test_description_names_nothing_of_the_module() -> None:
    one, two = samples.two_functions(), samples.dataflow()
    assert describe(one, two) == "another number of functions"
    assert describe(two, buggy.marks().given(two)) == "another Function"
    assert describe(two, tvm.IRModule({"other": two["main"]})) == "other names of functions"
    assert describe(two, two.with_attr("key", 1)) == "other attributes or relations of functions"


def test_text_shows_where_and_what() -> None:
    module = samples.dataflow()
    text = text_difference(module, buggy.marks().given(module))
    assert text.startswith("first mismatch at module.functions")
    assert '+        R.func_attr({"mark": 1})' in text
