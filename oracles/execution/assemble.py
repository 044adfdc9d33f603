"""From a lowered module to a virtual machine, without a system linker."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx

from oracles.execution.kernels import KernelCache, object_of
from oracles.execution.lowering import target
from oracles.execution.mode import ExecMode
from releases.jit import load_object

# A module may place tensors on llvm devices other than the first; they are all this machine's memory.
DEVICES = 4


def assemble(lowered: Any, mode: ExecMode, cache: KernelCache) -> Any:
    """Build a lowered module (every function has its ``global_symbol``) into a ``relax.VirtualMachine``.

    Raises:
        Exception: Whatever TVM's code generators raise for the module.
    """
    builder = relax.ExecBuilder()
    if mode is ExecMode.BYTECODE:
        libraries = _cached_kernels(builder, lowered, cache)
    else:
        # Code that CodeGenVMTIR emits refers to the kernels by symbol: all go into one object.
        leftover = relax._ffi_api.VMTIRCodeGen(builder, lowered)
        libraries = [load_object(cache.whole(_kernels_only(leftover)))]
    return machine(link(builder, libraries, lowered))


def link(builder: Any, libraries: list[Any], lowered: Any) -> Any:
    """Link the program of ``builder`` with loaded kernels and what the module brings (external modules, constants)."""
    attributes = dict(lowered.attrs) if lowered.attrs else {}
    external = list(attributes.get("external_mods", []))
    constants = dict(attributes.get("const_name_to_constant", {}))
    return relax._ffi_api.VMLink(builder, target(), None, [*libraries, *external], constants)


def machine(runtime_module: Any) -> Any:
    """A virtual machine on this machine's CPU."""
    return relax.VirtualMachine(runtime_module, [tvm.cpu(index) for index in range(DEVICES)])


def _cached_kernels(builder: Any, lowered: Any, cache: KernelCache) -> list[Any]:
    """Generate bytecode that calls kernels by the symbols of the cache; gives the libraries with these kernels."""
    try:
        renamed, kernels = _by_structure(lowered, cache)
    except Exception:
        # The pass that renames checks more than the code generator does; what it refuses is built as it is.
        leftover = relax._ffi_api.VMCodeGen(builder, lowered)
        return [load_object(object_of(_kernels_only(leftover)))]
    relax._ffi_api.VMCodeGen(builder, renamed)
    return _kernel_modules(renamed, kernels, cache)


def _by_structure(lowered: Any, cache: KernelCache) -> tuple[Any, dict[str, Any]]:
    """Give every PrimFunc the symbol of its structure; returns the module and the kernels by symbol."""
    renamed = lowered.clone()
    kernels: dict[str, Any] = {}
    for global_var, function in lowered.functions.items():
        if isinstance(function, tirx.PrimFunc):
            symbol = cache.symbol(function)
            while symbol in kernels:  # the same kernel twice in a module: global symbols must differ
                symbol += "_"
            kernels[symbol] = function
            renamed.update_func(global_var, function.with_attr("global_symbol", symbol))
    return relax.transform.NormalizeGlobalVar()(renamed), kernels


def _kernel_modules(renamed: Any, kernels: dict[str, Any], cache: KernelCache) -> list[Any]:
    try:
        return cache.modules(kernels)
    except Exception:
        # A PrimFunc that calls another one cannot be compiled alone; if the whole does not compile either, that
        # error is the module's.
        return [load_object(object_of(_kernels_only(renamed)))]


def _kernels_only(module: Any) -> Any:
    return tvm.IRModule(
        {gv: function for gv, function in module.functions.items() if isinstance(function, tirx.PrimFunc)},
        attrs=module.attrs,
    )
