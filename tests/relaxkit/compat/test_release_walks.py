"""Walks over kernels, where the installed ffi has them and where they are ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import tvm
import tvm_ffi
from tvm import te, tirx

from relaxkit.compat.shims import _walk


class Call:
    """An operator's call outside of kernels."""


class KernelCall:
    """The same inside."""


def nodes_of(*nodes: Any) -> Any:
    """``stmt_functor`` over nodes; post order is the other way round."""

    def over(nodes: tuple[Any, ...]) -> Any:
        return lambda root, visit: [visit(node) for node in nodes]

    return SimpleNamespace(pre_order_visit=over(nodes), post_order_visit=over(nodes[::-1]))


@pytest.mark.parametrize(("order", "wanted"), [("pre", [1, 2.5, "call"]), ("post", ["call", 2.5, 1])])
def test_the_first_callback_of_a_fitting_type_is_called(order: str, wanted: list[Any]) -> None:
    seen: list[Any] = []
    callbacks = [((int, float), seen.append), (object, lambda node: None), (int, lambda node: seen.append("twice"))]
    call = (Call, lambda node: seen.append("call"))
    _walk(nodes_of(1, 2.5, KernelCall()), {Call: KernelCall}, None, [call, *callbacks], order)
    assert seen == wanted


def test_one_pair_is_enough() -> None:
    seen: list[Any] = []
    _walk(nodes_of(1, "x"), {}, None, (str, seen.append))
    assert seen == ["x"]


def test_stores_and_calls_of_a_kernel_are_met() -> None:
    place = te.placeholder((4,), "float32", name="A")
    kernel = te.create_prim_func([place, te.compute((4,), lambda i: tirx.exp(place[i]) + tirx.exp(place[i]))])
    met: dict[str, int] = {"stores": 0, "calls": 0}

    def count(what: str) -> Any:
        return lambda node: met.update({what: met[what] + 1})

    tvm_ffi.structural_walk(
        kernel.body, [(tirx.BufferStore, count("stores")), (tvm.ir.Call, count("calls"))], order="pre"
    )
    assert met["stores"] == 1
    assert met["calls"] in (1, 2)  # once a place, or once where one call stands in two
