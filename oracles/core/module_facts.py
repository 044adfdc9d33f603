"""Facts of a module that hold whatever the pass, computed once and shared by all passes that are tried on it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm_ffi.serialization import from_json_graph_str

from oracles.core.evidence import evidence_of
from oracles.core.function_signatures import mistyped_call
from oracles.core.objection import subject_of
from oracles.core.verdict import UNFIT, Details, Evidence
from relaxkit.ir.equality import graph_of, module_of, text_of
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.types import parts_of_type
from relaxkit.ir.walk import expressions
from relaxkit.passes.pass_ref import PassRef


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of running a pass: a module, or the error that it raised (exactly one of the two)."""

    module: tvm.IRModule | None
    error: Evidence | None = None

    @property
    def outcome(self) -> str:
        """The error in words."""
        return "no error" if self.error is None else f"{self.error.kind}: {self.error.message}"


UNLISTED = "a device is not in the module's table"


@functools.cache
def target() -> tvm.target.Target:
    """Return the target under which all passes run: plain ``llvm``, as in the stock build pipelines."""
    return tvm.target.Target("llvm")


watched: AbstractContextManager[None] = nullcontext()
"""What else passes run inside of: a worker notes here which lines of a user's pass run."""


def apply(built: tvm.ir.transform.Pass, module: tvm.IRModule) -> Result:
    """Run a built pass on a module inside :func:`target`; an exception becomes the result's error."""
    try:
        with target(), watched:
            return Result(built(module))
    except Exception as error:
        return Result(None, evidence_of(error))


def complaint(module: tvm.IRModule) -> Evidence | None:
    """Return TVM's own objection to the module's form, or ``None`` when it is well formed.

    It objects to the first function that it comes to, and some passes leave them in the order of addresses
    (UpdateParamType). Of several objections this is the one to the first function by name, the same in each process.
    """
    found = _objection(module)
    if found is not None and len(module.functions) > 1:
        found = _objection(_by_name(module)) or found
    return found and replace(found, details=Details(subject=subject_of(module, found)))


def has_unlisted_device(module: tvm.IRModule) -> bool:
    """Return whether the type of a parameter, a value or a result names a device that is not in the module's table.

    TVM's checker does not look; a later pass that infers types afresh finds types that do not fit, and a build says
    that the device is not in the module (measured on UpdateVDevice, which leaves the old device in some types).
    """
    # By handle: in TVM 0.27 ``VDevice.same_as`` calls itself, by way of ``__eq__``, until the stack ends.
    table = {each.__chandle__() for each in (module.global_infos or {}).get("vdevice", ())}
    types: list[tvm.ir.Type | None] = []
    for _, function in relax_functions(module):
        types.append(function.ret_ty)
        types += [getattr(expr, "ty", None) for expr in expressions(function)]
    return any(
        isinstance(part, relax.TensorType) and part.vdevice is not None and part.vdevice.__chandle__() not in table
        for ty in types
        if ty is not None
        for part in parts_of_type(ty)
    )


def _objection(module: tvm.IRModule) -> Evidence | None:
    try:
        tvm.relax.analysis.well_formed(module)
    except Exception as error:
        return Evidence("ill-formed", evidence_of(error).message, ())
    return None


def ill_formed_kernel(module: tvm.IRModule) -> Evidence | None:
    """Return what TIR's checker objects to in a kernel by itself, such as a buffer that nothing declares.

    The checker of Relax looks into no kernel.
    """
    for function in module.functions.values():
        if isinstance(function, tvm.tirx.PrimFunc):
            try:
                tvm.s_tir.analysis.verify_well_formed(function)
            except Exception as error:
                return Evidence("ill-formed", evidence_of(error).message)
    return None


def _by_name(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with its functions in the order of their names; itself where two have one name."""
    functions = dict(sorted(module.functions_items(), key=lambda item: str(item[0].name_hint)))
    if len({str(var.name_hint) for var in functions}) < len(functions):
        return module
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


def load(text: str) -> tvm.IRModule | None:
    """Return the module of a JSON text, or ``None`` when TVM cannot load what it saved (constants without elements)."""
    try:
        return from_json_graph_str(text)
    except Exception:
        return None


def equal(left: tvm.IRModule, right: tvm.IRModule) -> bool:
    """Compare two modules, or two functions, structurally."""
    return bool(tvm_ffi.structural_equal(left, right))


def reloads(module: tvm.IRModule) -> bool:
    """Return whether a module equals what is read back from its JSON: no object in it compares by identity."""
    copy = load(str(tvm.ir.save_json(module)))
    return copy is not None and equal(copy, module)


def copied(module: tvm.IRModule, graph: Any = None) -> tvm.IRModule | None:
    """Return a copy made by way of JSON in memory, ``None`` where it is not equal; ``graph`` where that is known."""
    try:
        copy = module_of(graph_of(module) if graph is None else graph)
    except Exception:
        return None
    return copy if equal(copy, module) else None


class ModuleFacts:
    """Facts of one module, computed when asked for; a pass that modifies the module has it replaced by a reload."""

    def __init__(self, module: tvm.IRModule, again: Callable[[], tvm.IRModule | None] | None = None) -> None:
        self.module = module
        self._again = again  # makes the module once more, should a pass have modified it
        self._prepared: dict[str, ModuleFacts | Evidence] = {}

    @cached_property
    def graph(self) -> Any:
        """The module as JSON in memory: sees variable names, spans and the order of functions as well."""
        modified = self.modified()  # compares with a hash from before: both describe the module as it was
        again = self._again() if modified and self._again is not None else None
        return graph_of(self.module if again is None else again)

    @cached_property
    def snapshot(self) -> str:
        """The text of :attr:`graph`."""
        return text_of(self.graph)

    @cached_property
    def reload(self) -> tvm.IRModule | None:
        """A copy that shares no object with the module, or ``None`` when the module does not equal its own copy."""
        return copied(self.module, self.graph)

    @cached_property
    def complaint(self) -> Evidence | None:
        """TVM's objection to the module's form, or ours to a call in it."""
        return complaint(self.module) or mistyped_call(self.module)

    @cached_property
    def unfit(self) -> str:
        """Why it is no input, by ``UNFIT``; empty where it is one. LegalizeOps makes such kernels for two devices."""
        wrong = (ill_formed_kernel(self.module), has_unlisted_device(self.module))
        return next((reason for reason, found in zip(UNFIT, wrong, strict=True) if found), "")

    @cached_property
    def fingerprint(self) -> int:
        """Structural hash of the module as it was first seen."""
        return int(tvm_ffi.structural_hash(self.module))

    def observe(self) -> None:
        """Compute what must be known before a pass runs, since the pass may modify the module."""
        known = self.graph if self._again is None else self.fingerprint
        assert known is not None

    def modified(self) -> bool:
        """Return whether the module's structural hash is another one than at first.

        Ten times cheaper than comparing snapshots; blind to names, spans and the order of functions, of which
        no oracle's later comparison depends.
        """
        return int(tvm_ffi.structural_hash(self.module)) != self.fingerprint

    def restore(self) -> None:
        """Replace the module by a reload of its snapshot, and forget what was derived from the old one.

        A module that TVM cannot load again stays as it is, and counts as a new one.
        """
        copy = load(self.snapshot)
        if copy is not None:
            self.module = copy
        for derived in ("graph", "snapshot", "reload", "complaint", "unfit", "fingerprint"):
            self.__dict__.pop(derived, None)
        self._prepared.clear()

    def prepared(self, ref: PassRef) -> ModuleFacts | Evidence:
        """Return the facts of the module after a preparing pass, or what that pass raised; computed once per pass."""
        if ref.expression not in self._prepared:
            self.observe()  # prepared modules share objects with this one: a pass may modify both
            result = apply(ref.build(), self.module)
            facts = ModuleFacts(result.module, lambda: apply(ref.build(), module_of(self.graph)).module)
            self._prepared[ref.expression] = result.error or facts
        return self._prepared[ref.expression]
