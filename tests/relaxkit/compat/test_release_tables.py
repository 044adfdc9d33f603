"""What a row of the tables does, shown on a toy library, and what all of them leave of the installed TVM."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from relaxkit.compat import adoption
from relaxkit.compat.shims import found, publish, type_key
from relaxkit.compat.tables import (
    ALIASES,
    ARGUMENTS,
    ATTRIBUTES,
    DEMANDS,
    KEYWORDS,
    Alias,
    Argument,
    Attribute,
    Demand,
    Keyword,
)


class Tensor:
    """A class of the toy library."""

    def __init__(self, data: int, struct_info: str = "none") -> None:
        self.data = data
        self.struct_info = struct_info


def combine(left: int, right: int = 0, *, out_sinfo: str = "") -> tuple[int, int, str]:
    return left, right, out_sinfo


def resize(data: int, size: int) -> tuple[int, int]:
    return data, size


def alter(mapping: dict[str, int], separators: dict[str, int], others: dict[str, int]) -> tuple[Any, ...]:
    return mapping, separators, others


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An older release of a library."""
    library, part = ModuleType("toy"), ModuleType("toy.arith")
    library.__dict__.update(arith=part, Tensor=Tensor, combine=combine, resize=resize, alter=alter, Dead="dead")
    monkeypatch.setitem(sys.modules, "toy", library)
    monkeypatch.setitem(sys.modules, "toy.arith", part)
    monkeypatch.setattr(adoption, "ADDED", [])
    inner = Tensor.__init__
    yield library
    Tensor.__init__ = inner  # type: ignore[method-assign]  # puts back what an adoption replaced
    sys.modules.pop("toy.sym", None)
    if hasattr(Tensor, "value"):
        del Tensor.value


def test_an_alias_adds_a_name_and_leaves_the_old_one(toy: Any) -> None:
    adoption._alias(Alias("toy.sym", "toy.arith", "2"))
    assert toy.sym is toy.arith
    assert sys.modules["toy.sym"] is toy.arith
    adoption._alias(Alias("toy.GenericConst", "toy.Tensor", "2"))
    assert toy.GenericConst is toy.Tensor
    assert adoption.ADDED


def test_an_alias_touches_nothing_that_is_there_unless_it_says_so(toy: Any) -> None:
    adoption._alias(Alias("toy.Dead", "toy.Tensor", "2"))
    assert toy.Dead == "dead"
    adoption._alias(Alias("toy.Dead", "toy.Gone", "2", rebinds=True))  # a newer release: the old name is gone
    assert toy.Dead == "dead"
    assert not adoption.ADDED
    adoption._alias(Alias("toy.Dead", "toy.Tensor", "2", rebinds=True))
    assert toy.Dead is toy.Tensor


def test_attributes_and_keywords_are_understood_by_both_names(toy: Any) -> None:
    adoption._attribute(Attribute("toy.Tensor", "value", "data", "2"))
    adoption._keyword(Keyword("toy.Tensor", "ty", "struct_info", "2"))
    adoption._keyword(Keyword("toy.combine", "out_ty", "out_sinfo", "2"))
    made = toy.Tensor(3, ty="int")
    assert (made.value, made.struct_info) == (3, "int")
    assert toy.Tensor(3, struct_info="int").struct_info == "int"
    assert toy.combine(1, out_ty="t") == toy.combine(1, out_sinfo="t") == (1, 0, "t")
    before = toy.combine
    adoption._keyword(Keyword("toy.combine", "other", "not_there", "2"))
    assert toy.combine is before


def test_arguments_that_are_not_taken_are_left_out_and_demanded_ones_are_empty(toy: Any) -> None:
    adoption._argument(Argument("toy.resize", "aligned", "2"))
    assert toy.resize(1, 2, True) == toy.resize(1, 2, aligned=True) == (1, 2)
    before = toy.combine
    adoption._argument(Argument("toy.combine", "right", "1"))
    assert toy.combine is before
    adoption._demand(Demand("toy.alter", ("separators", "others"), "1"))
    assert toy.alter({"a": 1}) == ({"a": 1}, {}, {})
    assert toy.alter({"a": 1}, {"b": 2}) == toy.alter({"a": 1}, separators={"b": 2}) == ({"a": 1}, {"b": 2}, {})


def test_paths_are_read_and_set(toy: Any) -> None:
    assert found("toy.Tensor.nothing.more") is None
    publish("toy.combine", "new")
    assert found("toy.combine") == "new"


def test_the_installed_tvm_has_every_name_of_the_tables() -> None:
    import tvm

    missing = [row.new for row in ALIASES if found(row.new) is None]
    missing += [
        f"{row.owner}.{row.new}" for row in ATTRIBUTES if found(row.owner) and not hasattr(found(row.owner), row.new)
    ]
    assert missing == []
    functions = [row.function for row in (*KEYWORDS, *ARGUMENTS, *DEMANDS)]
    assert [path for path in functions if found(path) is None] == []
    assert type_key(tvm.IRModule) == "ir.IRModule"


def test_the_newest_release_is_left_as_it_is() -> None:
    from relaxkit.compat.known import is_newest

    assert bool(adoption.ADDED) is not is_newest()
    before = list(adoption.ADDED)
    adoption.adopt()
    assert len(adoption.ADDED) <= len(before) + len(ALIASES)


def test_constants_have_values_and_expressions_have_types() -> None:
    import tvm
    from tvm import relax

    constant = relax.const(1.5, "float32")
    assert isinstance(constant, tvm.ir.GenericConst)
    assert float(constant.value.numpy()) == 1.5
    assert isinstance(constant.ty, relax.TensorType)
    var = relax.Var("x", relax.TensorType([tvm.tirx.Var("n", "int64"), 4], "float32"))
    assert var.name == "x"
    assert [str(dim) for dim in relax.analysis.definable_tir_vars_in_type(var.ty)] == ["n"]
    assert isinstance(tvm.sym.Analyzer(), tvm.sym.Analyzer)
    call = relax.Call(tvm.ir.Op.get("relax.add"), [var, constant], ty_args=[])
    assert list(call.ty_args) == []
    assert isinstance(tvm.ir.PrimType("int64"), tvm.ir.PrimType)
