"""NNSmith on today's TVM: its models through ``tvm.relax.frontend.onnx``, where it knows only Relay.

NNSmith 0.1.0 is left as it is but for three things: PyTorch exports by TorchScript, which was its default then; the
compiler under test is Relax; and limits on time count processor time.  Everything else, the search for valid inputs,
PyTorch as the judge of numbers and the tolerance included, is NNSmith's own.
"""

from __future__ import annotations

import functools
import logging
import random
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from fuzzer.core.case import Case
from fuzzer.worker.child import breadcrumb
from oracles.core.evidence import evidence_of
from oracles.core.verdict import Breadcrumb, Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts.pipelines import pipeline

warnings.simplefilter("ignore")  # pygraphviz is missing

from nnsmith import graph_gen, narrow_spec  # noqa: E402 - after the filter of warnings
from nnsmith.backends import BackendFactory  # noqa: E402 - as above
from nnsmith.difftest import assert_allclose  # noqa: E402 - as above
from nnsmith.materialize.onnx import ONNXModelCPU  # noqa: E402 - as above
from nnsmith.materialize.torch import input_gen, symbolnet  # noqa: E402 - as above
from nnsmith.util import set_seed  # noqa: E402 - as above

IMPORTER = "onnx importer"
BUILD = "build:cpu"
NODES = 10
"""Operators of a model, as in NNSmith's paper; its command line says 5."""
_MOST_ELEMENTS, _PATIENCE = 1 << 16, 10_000  # NNSmith's defaults: elements of a tensor, milliseconds for a model

logging.disable(logging.WARNING)
torch.onnx.export = functools.partial(torch.onnx.export, dynamo=False)
torch.set_num_threads(1)


class _ProcessorTime:
    """The clock of NNSmith's limits: others work on the machine."""

    time = staticmethod(time.process_time)


for _timed in (graph_gen, input_gen, symbolnet):
    _timed.time = _ProcessorTime

Arrays = dict[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model that NNSmith made: as ONNX, inputs, and what PyTorch computes of them."""

    proto: bytes
    inputs: Arrays
    outputs: Arrays


class _Relax(BackendFactory):  # type: ignore[misc]  # its class is Any
    """TVM Relax as NNSmith's compiler under test, which tells by which dtypes each operator can be had."""

    system_name = "tvm-relax"
    version = tvm.__version__

    def critical_assert_dispatchable(self, model: ONNXModelCPU) -> None:
        """Take all models: there is one kind."""

    def make_backend(self, model: ONNXModelCPU) -> Any:
        """Compile a model."""
        proto = model.native_model
        run = compiled(proto, imported(proto, {name: like.shape for name, like in model.input_like.items()}))
        return lambda inputs: dict(zip(model.output_like, run(inputs), strict=True))


def imported(proto: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    """Return the module of a model."""
    return from_onnx(proto, {name: list(shape) for name, shape in shapes.items()})


def compiled(proto: Any, module: Any) -> Any:
    """Compile as a user would, and return a function from inputs by name to outputs."""
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())

    def run(inputs: Arrays) -> list[np.ndarray[Any, Any]]:
        given = [tvm.runtime.tensor(inputs[each.name]) for each in proto.graph.input]
        result = machine["main"](*given)
        return [each.numpy() for each in ([result] if isinstance(result, tvm.runtime.Tensor) else result)]

    return run


def operators(cache: Path) -> list[Any]:
    """Return the operators, narrowed to the dtypes with which each alone can be compiled; tried out once."""
    narrow_spec.NNSMITH_CACHE_DIR = str(cache)
    return list(narrow_spec.auto_opset(ONNXModelCPU, _Relax()))


def models(seed: int, cache: Path) -> Iterator[Model]:
    """Yield models; what NNSmith cannot make it leaves out, as its own loop does."""
    ONNXModelCPU.add_seed_setter()
    opset = operators(cache)
    set_seed(seed)
    source = random.Random(seed)
    while True:
        try:
            made = graph_gen.model_gen(
                opset, "symbolic-cinit", NODES, source.getrandbits(32), _PATIENCE, max_elem_per_tensor=_MOST_ELEMENTS
            )
            model = ONNXModelCPU.from_gir(made.make_concrete())
            model.refine_weights()
            oracle = model.make_oracle()
            proto = model.native_model.SerializeToString()
        except Exception:  # of a constraint, of PyTorch, of its exporter
            continue
        yield Model(proto, oracle.input, oracle.output)


def failures_of(model: Model) -> list[tuple[Verdict, Case | None]]:
    """Import, compile and run a model as NNSmith does, in a worker; and the case that relaxfuzz can judge."""
    proto = onnx.load_model_from_string(model.proto)
    _begin(IMPORTER)
    try:
        module = _module(model)
    except Exception as error:
        return [(Verdict(OracleName.CRASH, Outcome.FAIL, IMPORTER, evidence=evidence_of(error)), None)]
    _begin(BUILD)
    try:
        outputs = compiled(proto, module)(model.inputs)
    except Exception as error:
        return [(Verdict(OracleName.CRASH, Outcome.FAIL, BUILD, evidence=evidence_of(error)), case_of(model))]
    try:
        assert_allclose(dict(zip(model.outputs, outputs, strict=True)), model.outputs, "TVM", "PyTorch", equal_nan=True)
    except AssertionError as error:
        found = Evidence("wrong-value", "another result than PyTorch's", observed=str(error))
        return [(Verdict(OracleName.NUMERIC, Outcome.FAIL, BUILD, evidence=found), case_of(model))]
    return []


def case_of(model: Model) -> Case:
    """Return, in a worker, what relaxfuzz judges of a model."""
    return Case(str(tvm.ir.save_json(_module(model))), (pipeline(BUILD),), 0)


def _module(model: Model) -> Any:
    shapes = {name: value.shape for name, value in model.inputs.items()}
    return imported(onnx.load_model_from_string(model.proto), shapes)


def _begin(culprit: str) -> None:
    breadcrumb(Breadcrumb.of(Details(OracleName.CRASH), culprit).text)
