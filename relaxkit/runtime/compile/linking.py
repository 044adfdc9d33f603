"""From a lowered module to a virtual machine, without a system linker."""

from __future__ import annotations

import functools
from typing import Any

import tvm
from tvm import relax, tirx

from relaxkit.compat.jit import load_object, load_objects
from relaxkit.ir.functions import symbol_of
from relaxkit.runtime.compile.constants import with_symbols
from relaxkit.runtime.compile.kernels import KernelCache, clash, object_of
from relaxkit.runtime.compile.lowering import target
from relaxkit.runtime.values import ExecMode

PREFIX = "__tvm_ffi_"  # what TVM's code generator puts before the symbol of a function that can be called from outside
DECLARATIONS = "__kernels"  # sorts before "__vmtir__..."
# A module may place tensors on llvm devices other than the first; they are all this machine's memory.
DEVICES = 4


def link_program(lowered: tvm.IRModule, mode: ExecMode, cache: KernelCache) -> Any:
    """Build a lowered module (every function has its ``global_symbol``) into a ``relax.VirtualMachine``.

    Raises:
        Exception: Whatever TVM's code generators raise for the module.
    """
    builder, libraries = (_bytecode if mode is ExecMode.BYTECODE else _compiled)(lowered, cache)
    return machine(link(builder, libraries, lowered))


def link(builder: relax.ExecBuilder, libraries: list[Any], lowered: tvm.IRModule) -> Any:
    """Link the program of ``builder`` with loaded kernels and what the module brings (external modules, constants)."""
    attributes = dict(lowered.attrs) if lowered.attrs else {}
    external = list(attributes.get("external_mods", []))
    constants = dict(attributes.get("const_name_to_constant", {}))
    return relax._ffi_api.VMLink(builder, target(), None, [*libraries, *external], constants)


def machine(runtime_module: Any) -> Any:
    """Return a virtual machine on this machine's CPU."""
    return relax.VirtualMachine(runtime_module, [tvm.cpu(index) for index in range(DEVICES)])


def _bytecode(lowered: tvm.IRModule, cache: KernelCache) -> tuple[Any, list[Any]]:
    """Generate bytecode that calls kernels by the symbols of the cache; gives the libraries with these kernels."""
    try:
        builder = relax.ExecBuilder()
        declaring, kernels = _by_declaration(lowered, cache)
        relax._ffi_api.VMCodeGen(builder, declaring)
        return builder, cache.modules(kernels)
    except Exception:
        # A PrimFunc that calls another one cannot be compiled alone; an error of the module's comes back.
        builder = relax.ExecBuilder()
        leftover = relax._ffi_api.VMCodeGen(builder, lowered)
        return builder, [load_object(object_of(_kernels_only(leftover)))]


def _compiled(lowered: tvm.IRModule, cache: KernelCache) -> tuple[Any, list[Any]]:
    """Generate code that calls kernels by the symbols of the cache, and link it with these into one library.

    What CodeGenVMTIR emits calls a kernel's symbol directly.  It is compiled apart from the kernels, most of which the
    cache has; the linker of the JIT then finds them as a system linker would.
    """
    try:
        builder = relax.ExecBuilder()
        renamed, kernels = _by_structure(lowered, cache)
        own = _declaring(relax._ffi_api.VMTIRCodeGen(builder, renamed), kernels)
        objects = cache.objects(kernels)
        if not clash(objects):
            contents = [each.content for each in objects]
            library = load_objects([cache.whole(own), *contents, *cache.checkers(contents)])
            if all(library.implements_function(symbol_of(function)) for function in own.functions.values()):
                return builder, [library]
    except Exception:  # whatever it is that cannot be compiled apart; an error of the module's comes back below
        pass
    builder = relax.ExecBuilder()
    leftover = relax._ffi_api.VMTIRCodeGen(builder, lowered)
    return builder, [load_object(cache.whole(_kernels_only(leftover)))]


def _declaring(module: tvm.IRModule, kernels: dict[str, Any]) -> Any:
    """The module with declarations in place of kernels, by way of a function that calls them and is never called.

    LLVM's code generator takes a callee that it does not know for another one at every call; what a ``call_extern``
    names it knows, and functions are generated in the order of their symbols.
    """
    functions = {gv: function for gv, function in module.functions.items() if gv.name_hint not in kernels}
    if kernels:
        # The C signature of every kernel: its own handle, arguments and their number, and where its result goes.
        names = (("self", "handle"), ("arguments", "handle"), ("number", "int32"), ("result", "handle"))
        parameters = [tirx.Var(name, dtype) for name, dtype in names]
        calls = [tirx.Evaluate(tirx.call_extern("int32", PREFIX + symbol, *parameters)) for symbol in kernels]
        body = tirx.SeqStmt(calls) if len(calls) > 1 else calls[0]
        caller = tirx.PrimFunc(parameters, body).with_attr("global_symbol", DECLARATIONS)
        functions[tvm.ir.GlobalVar(DECLARATIONS)] = caller.with_attr("s_tir", True)
    return tvm.IRModule(functions, attrs=module.attrs)


def _by_declaration(lowered: tvm.IRModule, cache: KernelCache) -> tuple[Any, dict[str, Any]]:
    """Declare every PrimFunc to be what the cache has of its structure; returns the module and the kernels by symbol.

    The code generator of bytecode calls a function of the module by the symbol that is declared for it, so that no call
    has to be rewritten.
    """
    functions: dict[Any, Any] = {}
    kernels: dict[str, Any] = {}
    for global_var, function in lowered.functions.items():
        if isinstance(function, tirx.PrimFunc):
            symbol = cache.symbol(function)
            kernels[symbol] = function
            function = _declared(symbol)
        functions[global_var] = function
    return tvm.IRModule(functions, attrs=lowered.attrs, global_infos=lowered.global_infos), kernels


@functools.lru_cache(maxsize=8192)
def _declared(symbol: str) -> Any:
    return relax.ExternFunc(symbol)


def _by_structure(lowered: tvm.IRModule, cache: KernelCache) -> tuple[Any, dict[str, Any]]:
    """Give every PrimFunc the symbol of its structure; returns the module and the kernels by symbol."""
    symbols: dict[str, str] = {}
    kernels: dict[str, Any] = {}
    named: dict[str, Any] = {}
    for global_var, function in lowered.functions.items():
        if isinstance(function, tirx.PrimFunc):
            symbol, renamed = cache.named(function)
            if symbol not in kernels:
                named[global_var.name_hint] = renamed
            while symbol in kernels:  # the same kernel twice in a module: global symbols must differ
                symbol += "_"
            kernels[symbol] = function
            symbols[global_var.name_hint] = symbol
    return with_symbols(lowered, symbols, named), kernels


def _kernels_only(module: tvm.IRModule) -> Any:
    return tvm.IRModule(
        {gv: function for gv, function in module.functions.items() if isinstance(function, tirx.PrimFunc)},
        attrs=module.attrs,
    )
