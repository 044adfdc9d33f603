"""Older spellings of TVMScript, renamed to those of the installed TVM where that is mechanical.

Only names change: a script whose structure the parser no longer takes stays refused.
"""

from __future__ import annotations

import ast

_ROOTS = {"tir": "tirx"}
"""Packages that were renamed."""
_ATTRIBUTES = {
    "tir": "tirx", "block": "sblock", "block_attr": "sblock_attr", "alloc_buffer": "sblock_alloc_buffer",
    "block_alloc_buffer": "sblock_alloc_buffer", "struct_info": "ty", "StructInfo": "Type",
    "TensorStructInfo": "TensorType", "ShapeStructInfo": "ShapeType", "TupleStructInfo": "TupleType",
    "FuncStructInfo": "FuncType", "ObjectStructInfo": "AnyType", "func_ret_struct_info": "func_ret_ty",
}  # fmt: skip
_KEYWORDS = {"out_sinfo": "out_ty", "sinfo_args": "ty_args", "struct_info": "ty"}
_KERNELS = frozenset({"T", "tir", "tirx"})
_KERNEL_ONLY = frozenset({"block", "alloc_buffer", "block_attr", "block_alloc_buffer"})
_S_TIR = "s_tir"


def renamed(source: str) -> str:
    """Rewrite source text with the names of today; the text itself when there is nothing to rename."""
    tree = ast.parse(source)
    changed = _Renamer()
    made = changed.visit(tree)
    return ast.unparse(ast.fix_missing_locations(made)) if changed.count else source


class _Renamer(ast.NodeTransformer):
    """Renames packages, attributes, keywords and the string annotations that hold them."""

    def __init__(self) -> None:
        self.count = 0

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename a package by itself."""
        return node if node.id not in _ROOTS else self._did(ast.Name(_ROOTS[node.id], node.ctx))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rename ``T.block``, ``relax.TensorStructInfo``."""
        self.generic_visit(node)
        new = _ATTRIBUTES.get(node.attr)
        if new is None or (node.attr in _KERNEL_ONLY and _root(node) not in _KERNELS):
            return node
        return self._did(ast.Attribute(node.value, new, node.ctx))

    def visit_alias(self, node: ast.alias) -> ast.AST:
        """Rename ``from tvm.script import tir as T``."""
        parts = [_ROOTS.get(part, part) for part in node.name.split(".")]
        name = ".".join(parts)
        if name == node.name:
            return node
        return self._did(ast.alias(name, node.asname or (node.name if "." not in node.name else None)))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Rename ``from tvm.tir import Var``."""
        self.generic_visit(node)
        parts = [_ROOTS.get(part, part) for part in (node.module or "").split(".")]
        if ".".join(parts) == (node.module or ""):
            return node
        return self._did(ast.ImportFrom(".".join(parts), node.names, node.level))

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Rename ``out_sinfo=...``."""
        self.generic_visit(node)
        new = _KEYWORDS.get(node.arg or "")
        return node if new is None else self._did(ast.keyword(new, node.value))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Make a call of ``T.Buffer[(16, 16), "float32"]``, as it is today."""
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Attribute) and node.value.attr == "Buffer"):
            return node
        arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self._did(ast.Call(node.value, list(arguments), []))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Give ``R.Prim(value="n")`` and ``R.Prim(dtype="int64")`` a dtype alone, as they take it today."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "Prim":
            keywords = {each.arg: each.value for each in node.keywords}
            if "value" in keywords:
                return self._did(ast.Call(node.func, [ast.Constant("int64")], []))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Let a kernel of blocks say so in its decorator, as it does today."""
        self.generic_visit(node)
        node.decorator_list = [self._kernel(each) for each in node.decorator_list]
        return node

    def _kernel(self, decorator: ast.expr) -> ast.expr:
        call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "prim_func"):
            return decorator
        if any(each.arg == _S_TIR for each in call.keywords):
            return decorator
        made = ast.Call(call.func, call.args, [*call.keywords, ast.keyword(_S_TIR, ast.Constant(True))])
        self.count += 1
        return made

    def _did(self, node: ast.AST) -> ast.AST:
        self.count += 1
        return node


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
