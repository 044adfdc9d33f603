"""The claims on memory plans: right plans are taken, and each way to plan wrongly is seen."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from lowered_script import HEADER
from tvm import relax
from verdict_rows import tensor

from relaxkit.passes.claims.memory_plan import (
    _escaped,
    bound_not_used,
    element_bytes,
    left_unplanned,
    planned_elsewhere,
    shared_while_in_use,
    storage_too_small,
)
from relaxkit.passes.contract import (
    Ran,
)

STORAGE = 'R.memory.alloc_storage(R.shape([{}]), 0, R.str("global"), R.dtype("float32"))'
TENSOR = 'R.memory.alloc_tensor({}, {}, R.shape([4]), R.dtype("float32"), 0)'
UNPLANNED = 'R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))'


def parsed(*lines: str) -> Any:
    """The module whose main consists of these lines, with S(bytes), L(storage), U and K(a, b) written out."""
    text = HEADER
    for line in lines:
        indent = len(line) - len(line.lstrip())
        body = line.strip()
        name, _, value = body.partition(" = ")
        if value.startswith("S("):
            body = f"{name} = {STORAGE.format(value[2:-1])}"
        elif value.startswith("L("):
            storage, _, offset = value[2:-1].partition(", ")
            body = f"{name} = {TENSOR.format(storage, offset or 0)}"
        elif value == "U":
            body = f"{name} = {UNPLANNED}"
        elif body.startswith("K("):
            body = f"_ = cls.step({body[2:-1]})"
        text += " " * (8 + indent) + body + "\n"
    return tvm.script.from_source(text, check_well_formed=False)


def shared(*lines: str) -> str:
    return shared_while_in_use(Ran(parsed("return x"), parsed(*lines), {})).partition("\n")[0]


SHARED = "two tensors that are in use at the same time share a storage"


def test_one_after_the_other_may_share() -> None:
    assert shared(
        "s = S(16)", "a = L(s)", "K(x, a)", "t = S(16)", "b = L(t)", "K(a, b)", "d = L(s)", "K(b, d)",
        "r = U", "K(d, r)", "return r",
    ) == ""  # fmt: skip


def test_written_while_read_by_the_same_kernel() -> None:
    assert shared("s = S(16)", "a = L(s)", "K(x, a)", "b = L(s)", "K(a, b)", "return b") == SHARED


def test_only_what_the_pass_itself_has_planned() -> None:
    module = parsed("s = S(16)", "a = L(s)", "K(x, a)", "b = L(s)", "K(a, b)", "return b")
    assert shared_while_in_use(Ran(module, module, {})) == ""


def test_different_places_of_one_storage() -> None:
    assert shared("s = S(32)", "a = L(s, 0)", "K(x, a)", "b = L(s, 16)", "K(a, b)", "return b") == ""
    assert shared("s = S(32)", "a = L(s, 0)", "K(x, a)", "b = L(s, 12)", "K(a, b)", "return b") == SHARED


@pytest.mark.parametrize(
    "alias",
    [
        ("v = a",),
        ('v = R.match_cast(a, R.Tensor((4,), "float32"))',),
        ("v = R.reshape(a, R.shape([4]))",),
        ("t = (x, a)", "v = t[1]"),
        ('v = R.call_packed("vm.builtin.copy", a, sinfo_args=R.Tensor((4,), "float32"))',),
        ("if c:", "    v = a", "else:", "    v = x"),
    ],
)
def test_use_under_another_name_is_a_use(alias: tuple[str, ...]) -> None:
    lines = ["s = S(16)", "a = L(s)", "K(x, a)", *alias, "b = L(s)", "K(x, b)", "r = U", "K(v, r)", "return r"]
    assert shared(*lines) == SHARED


def test_the_other_field_of_a_tuple_is_no_use() -> None:
    assert shared(
        "s = S(16)", "a = L(s)", "K(x, a)", "t = (x, a)", "v = t[0]", "b = L(s)", "K(x, b)", "r = U", "K(v, r)",
        "return r",
    ) == ""  # fmt: skip


def test_returned_tensor_is_in_use_to_the_end() -> None:
    assert shared("s = S(16)", "a = L(s)", "K(x, a)", "b = L(s)", "K(x, b)", "return a") == SHARED


def test_branches_that_exclude_each_other_may_share() -> None:
    lines = [
        "s = S(16)", "a = L(s)", "b = L(s)",
        "if c:", "    K(x, a)", "    p = U", "    K(a, p)", "    r = p",
        "else:", "    K(x, b)", "    q = U", "    K(b, q)", "    r = q",
        "return r",
    ]  # fmt: skip
    assert shared(*lines) == ""


def test_one_way_through_a_branch_is_enough() -> None:
    lines = [
        "s = S(16)", "a = L(s)", "K(x, a)",
        "if c:", "    b = L(s)", "    K(x, b)", "    r = x",
        "else:", "    r = x",
        "u = U", "K(a, u)", "return u",
    ]  # fmt: skip
    assert shared(*lines) == SHARED


def test_storage_that_is_too_small() -> None:
    for size, said in (
        (16, ""),
        (15, "a tensor is larger than its storage"),
        (0, "a tensor is larger than its storage"),
    ):
        module = parsed(f"s = S({size})", "a = L(s)", "K(x, a)", "return a")
        assert storage_too_small(Ran(module, module, {})).partition("\n")[0] == said


def bounded(size: str, attributes: str) -> Any:
    text = f"""# from tvm.script import relax as R
# from tvm.script import tirx as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float16")) -> R.Tensor(("n", "m"), "float16"):
        R.func_attr({{"relax.force_pure": True, {attributes}}})
        n = T.int64()
        m = T.int64()
        s = R.memory.alloc_storage(R.shape([{size}]), 0, R.str("global"), R.dtype("float16"))
        a = R.memory.alloc_tensor(s, 0, R.shape([n, m]), R.dtype("float16"), 0)
        return a
"""
    module = tvm.script.from_source(text, check_well_formed=False)
    return Ran(module, module, {})


BOTH = '"tir_var_upper_bound": {"n": 8, "m": 4}'


def test_bounds_say_how_large_a_storage_must_be() -> None:
    assert storage_too_small(bounded("64", BOTH)) == ""
    assert storage_too_small(bounded("62", BOTH)).startswith("a tensor is larger than its storage")
    assert storage_too_small(bounded("64", '"tir_var_upper_bound": {"n": 8}')) != ""
    assert storage_too_small(bounded("m * 16", '"tir_var_upper_bound": {"n": 8}')) == ""
    assert storage_too_small(bounded("n * m * 2", "")) == ""
    assert storage_too_small(bounded("n * n * 2", "")) != ""


def test_bounds_make_sizes_static() -> None:
    def planned(size: str, attributes: str) -> str:
        return bound_not_used(Ran(tvm.IRModule(), bounded(size, attributes).after, {}))

    assert planned("64", BOTH) == ""
    assert planned("n * 8", BOTH).startswith("a storage has a symbolic size")
    assert planned("n * m * 2", '"tir_var_upper_bound": {"n": 8}') == ""
    assert bound_not_used(bounded("n * 8", BOTH)) == ""  # it was there before


def test_tensor_without_storage_needs_a_reason() -> None:
    def unplanned(*lines: str) -> str:
        module = parsed(*lines)
        return left_unplanned(Ran(module, module, {})).partition("\n")[0]

    assert unplanned("a = U", "K(x, a)", "return a") == ""
    assert unplanned("a = U", "K(x, a)", "t = (x, a)", "v = t[1]", "return v") == ""
    assert unplanned("a = U", "K(x, a)", "if c:", "    b = U", "    K(a, b)", "    r = b", "else:", "    r = x",
                     "return r") == ""  # fmt: skip
    assert unplanned("a = U", "K(x, a)", "b = U", "K(a, b)", "return b") == (
        "a tensor that only kernels of one block use has no storage"
    )


def test_tensor_that_is_allocated_otherwise() -> None:
    before = parsed("a = U", "K(x, a)", "return a")
    assert planned_elsewhere(Ran(before, parsed("s = S(16)", "a = L(s)", "K(x, a)", "return a"), {})) == ""
    assert planned_elsewhere(Ran(before, parsed("K(x, x)", "return x"), {})).startswith("another number of tensors")
    other = parsed("a = U".replace("U", UNPLANNED.replace("float32", "int32")), "K(x, a)", "return a")
    assert planned_elsewhere(Ran(before, other, {})).startswith("a tensor is allocated in another dtype")


@pytest.mark.parametrize(
    ("dtype", "size"), [("float32", 4), ("bool", 1), ("int4", 1), ("float8_e4m3fn", 1), ("float16x4", 8), ("int64", 8)]
)
def test_bytes_of_elements(dtype: str, size: int) -> None:
    assert element_bytes(dtype) == size


def test_a_view_of_a_tensor_escapes_with_it():
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor([2]))
    with builder.function("main", [x]):
        made = builder.emit(
            relax.op.call_pure_packed("vm.builtin.reshape", x, relax.ShapeExpr([2]), ty_args=tensor([2]))
        )
        builder.emit_func_output(made)
    function = relax.transform.CallTIRRewrite()(relax.transform.RemovePurityChecking()(builder.get()))["main"]
    assert {var.name for var in _escaped(function, frozenset())} >= {"x"}
