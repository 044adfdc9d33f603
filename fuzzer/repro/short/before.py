"""A module in a short script: TVMScript where an equal module comes back from it, else Python that builds it.

Never JSON, which nobody reads and one release alone loads.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.repro.literals import array_source, nested
from fuzzer.repro.module.builder import Unsayable, building
from fuzzer.repro.module.format import parts, wrapped
from fuzzer.repro.module.tvmscript import comes_back, shared_constants, unwrapped
from relaxkit.ir.edits import functions_of
from relaxkit.passes.pass_ref import namespace

_LISTED_ELEMENTS = 16
"""A constant of more elements stands in a line of its own, unless it is short there."""
_COMMENT = re.compile(r"^ *# .*\n", re.MULTILINE)
_FUNCTION = re.compile(r"^ +def ", re.MULTILINE)
"""TVM's decorator of a class looks for names in the scopes of its functions."""
_DISTRIBUTED = re.compile(r"\bR\.(device_mesh|DTensor)\(")
"""Names that TVM's printer looks for in another module than the one that people import."""
_CLASS = re.compile(r"(^\s*cls = |^class |[ (-])Module(?=[:.]|$)", re.MULTILINE)
"""Where the module names itself; a kernel that calls another does so where it calls it."""
_TYPED = re.compile(r"(?<== )R\.([\w.]+)\((.*), ty_args=\((.*?),?\)\)$", re.MULTILINE)


def source_of(module: Any, name: str) -> str:
    """Return the lines that make an equal module and bind it to ``name``; raises ``Unsayable`` where none do."""
    return next(text for text, equal in sources_of(module, name) if equal)


_READ_OTHERWISE = "TVM parses this module's TVMScript into a different module"


def sources_of(module: Any, name: str) -> Iterator[tuple[str, bool]]:
    """Yield lines that bind a module to ``name``, and whether it is an equal one.

    The last one is, and shares its constants as the module does; before it comes TVMScript that reads back otherwise.

    Raises:
        Unsayable: No lines make an equal one.
    """
    lines: list[str] = []  # constants, of which none stand where they are used
    objects: dict[str, Any] = {}

    def constant(item: Any) -> str:
        """Write a constant where it is used; empty for what is none."""
        value = getattr(item, "value", None)
        if not isinstance(value, tvm.runtime.Tensor):
            return ""
        array, dtype = value.numpy(), str(value.dtype)
        written = nested(array) if array.size <= _LISTED_ELEMENTS else ""
        if written and array.size and "np." not in written:
            return f'R.const({written}, "{dtype}")'
        bound = f"{name.lower()}_{len(lines)}"
        lines.append(f'{bound} = relax.const({array_source(array)}, "{dtype}")')
        objects[bound] = relax.const(array, dtype)
        return bound

    try:
        printed = _in_order(_DISTRIBUTED.sub(r"R.dist.\1(", unwrapped(module, constant)), module)
        plain = _TYPED.sub(_written_out, _COMMENT.sub("", _CLASS.sub(rf"\g<1>{name}", printed)))
    except Unsayable:
        raise
    except Exception:  # what TVM cannot print is built
        yield _built(module, name, "TVM cannot print this module as TVMScript"), True
        return
    equal = None
    for text in dict.fromkeys((_without_annotations(plain), plain)):
        equal = _reads_back(text, objects, module)
        if equal or (equal is False and text == plain):
            yield wrapped("\n".join([*lines, text])) + "\n", equal
        if equal:
            break
    if equal and not shared_constants(module):
        return
    why = "TVMScript gives each use its own constant" if equal else _READ_OTHERWISE
    if equal is None:
        empty = "TVMScript knows no names in a class of no functions"
        why = "TVM cannot parse the TVMScript that it prints of this module" if _FUNCTION.search(plain) else empty
    yield _built(module, name, why), True


def as_read(text: str, name: str) -> str:
    """Return a module as it is where TVMScript makes it, both as JSON: variables are named as they are printed."""
    with contextlib.suppress(Exception):  # it is built node by node, and keeps its names
        ((source, _),) = sources_of(from_json_graph_str(text), name)
        constants, decorator, rest = source.partition("@I.ir_module")
        known = {**namespace()}
        exec(constants, known)
        return str(tvm.ir.save_json(tvm.script.from_source(f"{decorator}{rest}", known)))
    return text


def _in_order(text: str, module: Any) -> str:
    """Put functions in the module's order, on which some passes depend; TVM's printer sorts them."""
    lines, classes = text.splitlines(), (each for each in ast.parse(text).body if isinstance(each, ast.ClassDef))
    functions = [each for found in classes for each in found.body if isinstance(each, ast.FunctionDef)]
    spans = {each.name: (each.decorator_list[0].lineno - 1, each.end_lineno) for each in functions}
    order = [name for name in functions_of(module) if name in spans]
    if len(order) != len(spans) or order == [*spans]:
        return text
    written = ["\n".join(lines[slice(*spans[name])]) for name in order]
    return "\n".join([*lines[: min(spans.values())[0]], "\n\n".join(written), *lines[max(spans.values())[1] :]])


def _written_out(call: re.Match[str]) -> str:
    """Write the call of an operator as a node where TVM's parser takes no types for it, which its printer writes."""
    operator, arguments, types = call.groups()
    if "ty_args" in inspect.signature(attrgetter(operator)(R)).parameters:
        return call[0]
    listed = ", ".join(f"T.int64({each})" if each.isdecimal() else each for each in parts(arguments))
    return f'relax.Call(tvm.ir.Op.get("relax.{operator}"), [{listed}], ty_args=[{types}])'


def _built(module: Any, name: str, why: str) -> str:
    """Return the function that builds the module node by node, and its call."""
    function = building(module).replace('    """The module that shows the defect, node by node."""\n', "", 1)
    made = f"{name.lower()}()"
    function = function.replace("given_module()", made, 1).rstrip()
    return f"# Built node by node: {why}.\n{function}\n\n\n{name} = {made}\n"


def _reads_back(text: str, names: dict[str, Any], module: Any) -> bool | None:
    """Say whether an equal module is read back; ``None`` where none is."""
    try:
        known = {"I": I, "R": R, "T": T, "tvm": tvm, "relax": relax, **names} if _FUNCTION.search(text) else {}
        return comes_back(tvm.script.from_source(text, known), module)
    except Exception:
        return None


def _without_annotations(text: str) -> str:
    """Return the text without the types of variables, which are inferred mostly."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    lines = text.splitlines()
    for node in sorted(_annotated(tree), key=lambda each: (each.lineno, each.col_offset), reverse=True):
        target, value = node.target, node.value
        assert value is not None
        if target.lineno == value.lineno:
            line = lines[target.lineno - 1].encode()
            lines[target.lineno - 1] = (line[: target.end_col_offset] + b" = " + line[value.col_offset :]).decode()
    return "\n".join(lines)


def _annotated(node: ast.AST) -> Iterator[ast.AnnAssign]:
    """Yield the annotated bindings of Relax functions, and none of kernels."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and "T.prim_func" in map(ast.unparse, child.decorator_list):
            continue
        if isinstance(child, ast.AnnAssign) and child.value is not None:
            yield child
        yield from _annotated(child)
