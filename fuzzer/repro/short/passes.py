"""Passes as people write them in a script: with functions that have names, where the text of a pass nests lambdas."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzzer.repro.bundle import select
from relaxkit.passes.arguments import CONFIGURED
from relaxkit.passes.relaid import suggestions

HELPERS = ("relaxkit/passes/relaid.py", "relaxkit/passes/tuned.py")
"""Files with functions of ours that the text of a pass calls: a script has copies of those."""
DIRECT = {"relaid": suggestions}
"""What yields the calls of TVM in a function of ours that may raise, each with the module that it is for."""
_KINDS = {"relax.transform.function_pass": True, "tvm.transform.module_pass": False}
"""What makes a pass of a lambda, and whether that is for functions."""


@dataclass(frozen=True, slots=True)
class WrittenPass:
    """A pass in a script.

    Attributes:
        definitions: What it needs, one statement each.
        call: An expression: of a pass, or of its result where ``given`` is not empty.
        given: The name in it of what the pass is applied to.
        of_function: Whether it is applied to a function, and not to a module.
        options: The options of the ``PassContext`` around it, as text.
    """

    definitions: tuple[str, ...]
    call: str
    given: str = ""
    of_function: bool = False
    options: str = ""

    def applied(self, to: str) -> str:
        """Write its application to what an expression gives."""
        if not self.given:
            return f"{self.call}({to})"
        return _text(_renamed(_parsed(self.call), {self.given: to}))

    def direct(self, module: Any) -> Iterator[tuple[Any, str]]:
        """Yield the calls of TVM that its function of ours makes, each with the module ``Before`` that it is for."""
        call = _parsed(self.call)
        for calls in filter(None, [DIRECT.get(_called(call))]):
            yield from calls(module, *map(ast.literal_eval, call.args[1:]))


def written(expression: str, alone: bool) -> WrittenPass:
    """Write the pass that an expression builds.

    Args:
        expression: The text of a ``PassRef``.
        alone: Whether the module has one Relax function, to which a function pass is applied as a function then.
    """
    made, options = _parsed(expression), ""
    if _called(made) == CONFIGURED:
        made, options = made.args[0], _text(made.args[1])
        expression = _text(made)
    names = _Names()
    if isinstance(getattr(made, "func", None), ast.Lambda):
        made = names.visit(made)
    if (of_function := _KINDS.get(_called(made))) is None:
        return WrittenPass((), expression, options=options)
    function = made.args[0]
    given = function.args.args[0].arg
    whole = of_function and not alone
    inside = _Names(names.taken, several=whole)
    body = inside.visit(function.body)
    hoisted = [each for each in inside.before if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    rest = [each for each in inside.before if each not in hoisted]
    names.before += hoisted
    if rest or whole:
        parameters = [each.arg for each in function.args.args] if whole else [given]
        decorator = f"@{_text(made.func)}(opt_level=0)" if whole else ""
        names.before.append(_function("rewritten", parameters, [*rest, *_returned(body)], decorator))
        body = _parsed("rewritten" if whole else f"rewritten({given})")
        given, of_function = "" if whole else given, of_function and not whole
    return WrittenPass((*names.statements(), *_helpers(body)), _text(body), given, of_function, options)


def _helpers(call: ast.expr) -> Iterator[str]:
    """Yield the functions of ours that a call needs, without documentation and annotations."""
    for node in ast.parse(select(HELPERS, _text(call)).text).body:
        yield _text(_Bare().visit(node))


class _Bare(ast.NodeTransformer):
    """Takes documentation and annotations away."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = node.body[1:] if ast.get_docstring(node) else node.body
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node if node.value is None else ast.Assign([node.target], node.value)


@dataclass
class _Names(ast.NodeTransformer):
    """Takes apart what nests: lambdas and what is bound inside of an expression become statements before it.

    Attributes:
        taken: Names that are used.
        before: The statements.
        several: Whether it is run on several functions.
    """

    taken: set[str] = field(default_factory=set)
    before: list[ast.stmt] = field(default_factory=list)
    several: bool = False

    def statements(self) -> tuple[str, ...]:
        """Return the statements as text."""
        return tuple(map(_text, self.before))

    def visit_Call(self, node: ast.Call) -> Any:
        """Bind the parameters of a lambda that is called; write the class of a module that is parsed."""
        if _called(node) in _KINDS:
            return node  # what it makes a pass of is written where the pass is applied
        if isinstance(node.func, ast.Lambda):
            values = [self.visit(each) for each in node.args]
            new = {
                each.arg: self._bound(each.arg, value) for each, value in zip(node.func.args.args, values, strict=True)
            }
            return self.visit(_renamed(node.func.body, new))
        match node.args:
            case [ast.Constant(str(source))] if _called(node) == "tvm.script.from_source":
                made: Any = ast.parse(source).body[0]
                made.name = self._free(made.name)
                self.before.append(made)
                return ast.Name(made.name)
            case [ast.GeneratorExp() as found, otherwise] if _called(node) == "next":
                target, chosen = (ast.Tuple([each.target for each in found.generators]) for _ in range(2))
                first = ast.Call(ast.Name("next"), [ast.GeneratorExp(chosen, found.generators)], [])
                if self.several:  # there may be none in one of them
                    first.args.append(ast.Tuple([ast.Constant(None)] * len(target.elts)))
                self.before.append(ast.Assign([target], first))
                if self.several:
                    missing = ast.Compare(target.elts[0], [ast.Is()], [ast.Constant(None)])
                    self.before.append(ast.If(missing, [ast.Return(self.visit(otherwise))], []))
                return self.visit(found.elt)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Write a list of expressions, of which one is taken, one below the other; ``__enter__`` begins a ``with``."""
        if not isinstance(node.value, ast.List | ast.Tuple):
            return self.generic_visit(node)
        items, outer = node.value.elts, self.before
        place = ast.literal_eval(node.slice) % len(items)
        enters = _text(items[0]).endswith(".__enter__()")
        self.before = []
        for number in range(int(enters), len(items) - int(enters)):
            items[number] = self.visit(items[number])
            if number != place and not isinstance(items[number], ast.Name):
                self.before.append(ast.Expr(items[number]))
        if enters:
            context = _parsed(_text(items[0]).removesuffix(".__enter__()"))
            self.before = [ast.With([ast.withitem(context)], self.before)]
        self.before = outer + self.before
        return items[place]

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        """Bind the name before."""
        self.before.append(ast.Assign([node.target], self.visit(node.value)))
        return ast.Name(node.target.id)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Define a function."""
        name = self._free("rewrite")
        self.before.append(_function(name, [each.arg for each in node.args.args], _returned(node.body)))
        return ast.Name(name)

    def _bound(self, name: str, value: ast.expr) -> str:
        new = self._free(name)
        self.before.append(ast.Assign([ast.Name(new)], value))
        return new

    def _free(self, name: str) -> str:
        numbered = (f"{name}{number or ''}" for number in itertools.count())
        new = next(each for each in numbered if each not in self.taken)
        self.taken.add(new)
        return new


def _returned(value: ast.expr) -> list[ast.stmt]:
    """Return the statements of a function that returns a value, by cases."""
    if isinstance(value, ast.IfExp):
        return [ast.If(value.test, _returned(value.body), []), *_returned(value.orelse)]
    return [ast.Return(value)]


def _function(name: str, parameters: Sequence[str], body: list[ast.stmt], decorator: str = "") -> ast.stmt:
    made = ast.parse(f"{decorator}\ndef {name}({', '.join(parameters)}): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made


def _renamed(tree: Any, names: Mapping[str, str]) -> Any:
    """Return an expression in which texts stand in the place of names."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return _parsed(names[node.id]) if node.id in names else node

    return Renaming().visit(tree)


def _parsed(expression: str) -> Any:
    return ast.parse(expression, mode="eval").body


def _called(tree: Any) -> str:
    """Return the text of what an expression calls; empty where it calls nothing."""
    return _text(tree.func) if isinstance(tree, ast.Call) else ""


def _text(tree: ast.AST) -> str:
    """Write a tree, with the quotes of TVM's own code."""
    text = ast.unparse(ast.fix_missing_locations(tree))
    return (text if '"' in text else text.replace("'", '"')).replace(":\n\n", ":\n")
