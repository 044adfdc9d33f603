"""Kernels of several modules are compiled together, before the modules are built."""

from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import tvm
from tvm import relax

from relaxkit.runtime import DiskCache, KernelCache, Session, run
from relaxkit.runtime.compile import kernels


def unary(name: str) -> Any:
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    return samples.function([x], lambda builder: builder.emit(getattr(relax.op, name)(x)))


def test_building_finds_what_was_compiled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[int] = []
    plain = kernels.compile_object

    def counted(functions: dict[str, Any], *how: Any) -> bytes:
        compiled.append(len(functions))
        return plain(functions, *how)

    monkeypatch.setattr(kernels, "compile_object", counted)
    session = Session()
    modules = {name: unary(name) for name in ("exp", "negative", "abs")}
    session.compile_together([*modules.values(), modules["exp"]])
    assert compiled == [3]
    values = np.array([-1.0, 0.5, 2.0], "float32")
    assert np.array_equal(session.build(modules["negative"]).call("main", [values]), -values)
    assert np.array_equal(session.build(modules["abs"]).call("main", [values]), np.abs(values))
    assert compiled == [3]


def test_what_is_not_lowered_spoils_no_other_module(monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = unary("negative"), unary("exp")
    plain = run.lower_quickly

    def lowered(module: Any, legalizer: Any) -> Any:
        if module is bad:
            raise ValueError("no")
        return plain(module, legalizer)

    monkeypatch.setattr(run, "lower_quickly", lowered)
    session = Session()
    session.compile_together([bad, good])
    assert session.kernels.loaded == 1


def test_what_is_not_compiled_together_is_compiled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(functions: dict[str, Any], *how: Any) -> bytes:
        raise RuntimeError("no object")

    session = Session()
    with monkeypatch.context() as patched:
        patched.setattr(kernels, "compile_object", fails)
        session.compile_together([unary("negative")])
        assert session.kernels.loaded == 0
    values = np.ones(3, "float32")
    assert np.array_equal(session.build(unary("negative")).call("main", [values]), -values)


def test_a_cache_for_another_target_has_no_directory(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="one target"):
        KernelCache(DiskCache(tmp_path), target=tvm.target.Target("llvm"))
