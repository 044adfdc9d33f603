"""Losses of a module that is written and read again: in JSON, and in TVMScript function by function.

Repro scripts carry a copy of what is here: it may use nothing but TVM and the standard library.
"""

from __future__ import annotations

import functools
import itertools
import keyword
import re
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import functions_by_name

Loss = tuple[str, str]
"""What went wrong, and TVM's message or which part differs, in words that name nothing of the module."""

REFINED = "refined"
"""Not a loss: the parser deduces types anew, and may know more than is written."""

# What went wrong when no TVMScript could hold what a pass made.
UNPRINTABLE_NAME = "unprintable-name"
UNLISTED_DEVICE = "unlisted-device"

# Names of the units that are about no single function.
ATTRIBUTES = ""
TOGETHER = "*"

# Numbers of ``tvm_ffi.access_path.AccessKind``: a field, and the first that says "missing".
_ATTRIBUTE = 0
_MISSING = 3


def loss_in_json(module: tvm.IRModule) -> Loss | None:
    """Return what goes wrong when the module is saved as JSON and loaded, or ``None``."""
    try:
        text = str(tvm.ir.save_json(module))
    except Exception as error:
        return "not-saved", str(error)
    try:
        loaded = tvm_ffi.serialization.from_json_graph_str(text)
    except Exception as error:
        return "not-loaded", str(error)
    if tvm_ffi.structural_equal(module, loaded):
        return None
    return "loads-otherwise", mismatch(module, loaded)


def loss_in_script(module: tvm.IRModule, name: str) -> Loss | None:
    """Return what goes wrong when a unit of the module is printed as TVMScript and parsed, or ``None``.

    The parser builds functions through ``BlockBuilder``, which joins neighbouring blocks of bindings: TVMScript cannot
    tell two of them from one.  So functions that differ are compared once more in TVM's normal form.  Functions are
    compared one by one: a symbolic variable that two of them share is written, and read, as two.
    """
    unit = unit_of(module, name)
    try:
        text = str(unit.script(show_meta=True))
    except Exception as error:
        return "not-printed", str(error)
    try:
        parsed = _parsed(text)
    except Exception as error:
        _unwind()
        return "not-parsed", str(error).split("\n --> ", 1)[0].removeprefix("error: ").strip()  # but for the place
    if _difference(unit, parsed, name) is None:
        return None
    normal = relax.transform.Normalize()
    pair = _difference(normal(unit), normal(parsed), name)
    if pair is None:
        return None
    return REFINED if _refined(*pair) else "reads-otherwise", mismatch(*pair)


@functools.lru_cache(maxsize=128)
def _parsed(text: str) -> tvm.IRModule:
    """Parse a text once: passes that are tried on one module leave most of its functions as they are."""
    return tvm.script.from_source(text, check_well_formed=False)


def _unwind() -> None:
    """Take away the builder that a parse leaves behind when it fails in a local function's signature.

    Modules whose classes are decorated in this thread would else be built into it, and fail.
    """
    builder = tvm.script.ir_builder.IRBuilder
    while builder.is_in_scope():
        builder.current().__exit__(None, None, None)


def _difference(left: tvm.IRModule, right: tvm.IRModule, name: str) -> tuple[tvm.IRModule, tvm.IRModule] | None:
    """Return what differs of two units: modules about one function of the same name, or about none."""
    ours, theirs = functions_by_name(left), functions_by_name(right)
    if ours.keys() != theirs.keys():
        return left, right
    for key in [ATTRIBUTES, *ours] if name in (ATTRIBUTES, TOGETHER) else [name]:
        pair = _alone(left, key), _alone(right, key)
        if not tvm_ffi.structural_equal(*pair):
            return pair
    return None


def _alone(module: tvm.IRModule, name: str) -> tvm.IRModule:
    """Return the module with one of its functions, or for ``ATTRIBUTES`` none; of the others only the names."""
    if name == ATTRIBUTES:
        return unit_of(module, name)
    names = {var: relax.ExternFunc("stub") for var, _ in module.functions_items() if str(var.name_hint) != name}
    functions = {var: function for var, function in module.functions_items() if str(var.name_hint) == name}
    return tvm.IRModule({**functions, **names}, global_infos=module.global_infos)


def _refined(left: tvm.IRModule, right: tvm.IRModule) -> bool:
    """Return whether two modules first differ in a type that the second one only knows more exactly.

    Of a call also in a type that the second one knows less exactly: TVMScript writes the type of the variable that the
    call is bound to, which is another one, and the call's own is deduced.
    """
    paths = tvm_ffi.get_first_structural_mismatch(left, right)
    if paths is None:
        return False
    trails = [_follow(root, path)[0] for root, path in zip((left, right), paths, strict=True)]
    ours, theirs = (next((item for item in trail if isinstance(item, tvm.ir.Type)), None) for trail in trails)
    if ours is None or theirs is None:
        return False
    owners = [item for item, ty in itertools.pairwise(trails[0]) if ty is ours]
    of_call = bool(owners) and isinstance(owners[0], relax.Call)
    try:
        return bool(ours.is_base_of(theirs) or (of_call and theirs.is_base_of(ours)))
    except Exception:  # kernels have types that TVM does not relate
        return False


def unit_of(module: tvm.IRModule, name: str) -> tvm.IRModule:
    """Make a small module about one function: in place of the functions that it names, stubs of their signatures.

    Under the name ``ATTRIBUTES``, a module that has the attributes of ``module`` and no function; under ``TOGETHER``,
    the module itself.  One function that is lost does not hide what happens to the others, and functions that a pass
    left alone need not be parsed again.
    """
    if name == TOGETHER:
        return module
    if name == ATTRIBUTES:
        return tvm.IRModule({}, attrs=module.attrs, global_infos=module.global_infos)
    functions = {str(var.name_hint): (var, function) for var, function in module.functions_items()}
    var, function = functions.pop(name)
    text = str(tvm.ir.save_json(function))
    named = {there: stub(other) for key, (there, other) in functions.items() if f'"{key}"' in text}
    return tvm.IRModule({var: function, **named}, global_infos=module.global_infos)


def unit_names(module: tvm.IRModule) -> list[str]:
    """Return the names of all units of a module; the last one says something only when the others were not lost."""
    return [ATTRIBUTES, *functions_by_name(module), TOGETHER]


def own_faults(module: tvm.IRModule) -> list[Loss]:
    """Return what no TVMScript could hold of a module, whatever TVM's printer and parser do."""
    found = []
    if any(not name.isidentifier() or keyword.iskeyword(name) for name in functions_by_name(module)):
        found.append((UNPRINTABLE_NAME, "the name of a function is no identifier"))
    devices: list[relax.VDevice] = []
    tvm_ffi.structural_walk(module, (relax.VDevice, devices.append))
    try:
        text = str(module.script()) if devices else ""  # printing is most of the time
    except Exception:
        return found
    # The printer writes -1 for a device that it does not find in the module's table.
    if re.search(r'vdevice="[^"\n]*:-1:', text):
        found.append((UNLISTED_DEVICE, "a tensor is on a device that the module does not list"))
    return found


def stub(function: tvm.ir.BaseFunc) -> tvm.ir.BaseFunc:
    """Make a function of the same signature that does nothing of interest."""
    if hasattr(function, "with_body"):  # a kernel
        return function.with_body(tvm.tirx.Evaluate(0))
    if not isinstance(function, relax.Function):
        return function
    value = relax.Var("gv", function.ret_ty)
    call = relax.Call(relax.ExternFunc("stub"), [], None, [function.ret_ty])
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(value, call)])], value)
    made = relax.Function(function.params, body, function.ret_ty, function.is_pure)
    symbol = (function.attrs or {}).get("global_symbol")
    made = relax.BlockBuilder().normalize(made)
    return made if symbol is None else made.with_attr("global_symbol", symbol)


def mismatch(left: tvm.IRModule, right: tvm.IRModule) -> str:
    """Say where two objects first differ: what kind of thing, and what became what, without names and values."""
    found = tvm_ffi.get_first_structural_mismatch(left, right)
    if found is None:
        return "another object"
    ours, field, missing = _follow(left, found[0])
    theirs, _, _ = _follow(right, found[1])
    held = (item for item in reversed(ours[:-1]) if not isinstance(item, dict | tvm_ffi.Array | tvm_ffi.Map))
    owner = next(held, ours[0])
    calls = [item for item in ours if isinstance(item, relax.Call) and isinstance(item.op, tvm.ir.Op)]
    where = f"{type(owner).__name__}.{field}"
    if calls and not isinstance(owner, relax.Call | tvm.ir.Type):
        where = f"{calls[-1].op.name}: {where}"
    typed = [ours[place] for place, item in enumerate(ours[1:]) if isinstance(item, tvm.ir.Type)]
    if typed:
        where = f"type of {type(typed[0]).__name__}: {where}"
    if missing:
        return f"{where}: another number of items"
    if field in ("a", "b"):  # arithmetic: what became what is up to the module
        return f"{where.rpartition('.')[0]}: other operands"
    return f"{where}: {_kind(ours[-1])} became {_kind(theirs[-1])}"


def _follow(root: tvm.Object, path: tvm_ffi.access_path.AccessPath) -> tuple[list[Any], str, bool]:
    """Return the objects along a path, the last field on it, and whether its end is not there."""
    trail, field = [root], ""
    for step in path.to_steps():
        kind = int(step.kind)
        if kind >= _MISSING:
            return trail, str(step.key) if kind == _MISSING else field, True
        if kind == _ATTRIBUTE:
            if str(step.key) == "__dict__":
                trail.append(dict(trail[-1].items()))
                continue
            field = str(step.key)
            trail.append(getattr(trail[-1], field, None))
        else:
            trail.append(trail[-1][step.key])
    return trail, field, False


def _kind(item: object) -> str:
    if isinstance(item, tvm.DataType):
        return str(item)
    return str(item.name) if isinstance(item, tvm.ir.Op) else type(item).__name__
