"""Numeric oracle, the common cases: a program that does not build, does not run, or returns something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.repro.pieces.frame import first_line, run_passes
from relaxkit.runtime.compile.lowering import from_pure, until_pure
from relaxkit.runtime.run import cxx_available
from relaxkit.runtime.values import to_tvm


def check_builds(module: Any, passes: list[Any], fragments: list[str], mode: str, lowered: bool) -> tuple[str, str]:
    """Build the module after the passes, as it does before; ``lowered`` says that they are a whole pipeline."""
    if not cxx_available():
        return "ENVIRONMENT", "plain relax.build needs a C++ compiler (g++, clang++ or $CXX) to link"
    return builds(module, run_passes(passes, module), fragments, mode, lowered)


def builds(before: Any, after: Any, fragments: list[str], mode: str, lowered: bool) -> tuple[str, str]:
    """Say whether the module after the passes builds."""
    if not lowered:
        built(before)
    try:
        built(after, mode, lowered)
    except Exception as error:
        fits = all(item in f"{type(error).__name__}: {error}" for item in fragments)
        return ("BUG" if fits else "DIFFERENT"), f"does not build: {type(error).__name__}: {first_line(error)}"
    return "OK", "the module builds"


def check_results(module: Any, passes: list[Any], *how: Any) -> tuple[str, str]:
    """Run the program after the passes: it returns what it returns before; ``how`` goes to :func:`returns`."""
    if not cxx_available():
        return "ENVIRONMENT", "plain relax.build needs a C++ compiler (g++, clang++ or $CXX) to link"
    before = tvm.ir.load_json(str(tvm.ir.save_json(module)))
    return returns(before, run_passes(passes, module), *how)


def returns(
    before: Any,
    after: Any,
    inputs: list[Any],
    kind: str,
    fragments: list[str],
    mode: str,
    lowered: bool,
    tolerance: float,
) -> tuple[str, str]:
    """Build and run both modules, and compare.

    ``inputs`` holds (function, arguments); ``kind`` is what goes wrong; floats may differ by ``tolerance``.
    """
    original, program = built(before), built(after, mode, lowered)
    other = ""
    for name, arguments in inputs:
        expected = leaves(original[name](*map(to_tvm, arguments)))
        try:
            observed = leaves(program[name](*map(to_tvm, arguments)))
        except Exception as error:
            fits = kind == "run-error" and all(item in f"{type(error).__name__}: {error}" for item in fragments)
            return ("BUG" if fits else "DIFFERENT"), f"{name}: {type(error).__name__}: {first_line(error)}"
        seen, text = difference(expected, observed, tolerance)
        if seen == kind:
            return "BUG", f"{name}: {text}"
        other = other or text
    return ("DIFFERENT", other) if other else ("OK", "the results agree")


def built(module: Any, mode: str = "bytecode", lowered: bool = False) -> Any:
    """Load the module on a virtual machine for this CPU, lowered by the passes that every module needs alone."""
    llvm = tvm.target.Target("llvm")
    with llvm:
        if not lowered:
            dispatch = [relax.backend.DispatchSampling(), relax.backend.DispatchSortScan()]
            lowering = [*until_pure(dispatch, relax.transform.LegalizeOps()), *from_pure()]
            module = tvm.transform.Sequential(lowering)(module)
        executable = relax.build(module, target=llvm, relax_pipeline=None, exec_mode=mode)
        return relax.VirtualMachine(executable.jit(), [tvm.cpu(index) for index in range(4)])


def leaves(value: Any) -> list[Any]:
    """Return the arrays, shapes and numbers of a result, without the tuples around them."""
    if isinstance(value, tvm.runtime.Tensor):
        return [np.array(value.numpy())]
    if isinstance(value, tvm.runtime.ShapeTuple):
        return [np.array(list(value), "int64")]
    if isinstance(value, (bool, int, float)):
        return [np.array(value)]
    return [leaf for item in value for leaf in leaves(item)]


def difference(expected: list[Any], observed: list[Any], tolerance: float) -> tuple[str, str]:
    """Find what is wrong with the first value that is, and a line on it; empty when all agree."""
    if len(expected) != len(observed):
        return "wrong-structure", f"expected {len(expected)} values, got {len(observed)}"
    for number, (left, right) in enumerate(zip(expected, observed)):  # noqa: B905 - Python 3.9 has no `strict`
        if left.dtype != right.dtype:
            return "wrong-dtype", f"output {number}: expected {left.dtype}, got {right.dtype}"
        if left.shape != right.shape:
            return "wrong-shape", f"output {number}: expected {left.shape}, got {right.shape}"
        allowed = tolerance if "float" in left.dtype.name else 0.0
        near = np.abs(left.astype("float64") - right.astype("float64")) <= allowed
        wrong = ~(near | (left == right) | ((left != left) & (right != right)))
        if wrong.any():
            place = tuple(int(index) for index in np.argwhere(wrong)[0])
            text = f"expected {left[place]} at {list(place)}, got {right[place]}; {wrong.sum()} of {wrong.size} differ"
            return "wrong-value", f"output {number}: {text}"
    return "", ""
