"""Passes as people write them in a script: with functions that have names, where the text of a pass nests lambdas."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fuzzer.repro.bundle import select
from relaxkit.passes.arguments import CONFIGURED, tree_of
from relaxkit.passes.helpers import suggestions
from relaxkit.passes.pass_ref import PassRef, namespace

HELPERS = ("relaxkit/passes/helpers.py",)
"""The file with functions of ours that the text of a pass calls: a script has copies of those."""
DIRECT = {"relaid": suggestions}
"""What yields the calls of TVM in a function of ours that may raise, each with the module that it is for."""
PLAIN = {"tuned": "apply_empty_database"}
"""The functions of ours in whose place a shorter one may do, which is given the module alone."""
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
        within: The name in it of the module of that function.
        options: The options of the ``PassContext`` around it, as text.
    """

    definitions: tuple[str, ...]
    call: str
    given: str = ""
    of_function: bool = False
    options: str = ""
    within: str = ""

    def applied(self, to: str, module: str = "") -> str:
        """Write its application to what an expression gives, in a module."""
        names = {self.given: to, self.within: module}
        return _text(_renamed(tree_of(self.call), names)) if self.given else f"{self.call}({to})"

    def direct(self, module: Any) -> Iterator[tuple[Any, str]]:
        """Yield the calls of TVM that its function of ours makes, each with the module ``Before`` that it is for."""
        call = tree_of(self.call)
        for calls in filter(None, [DIRECT.get(_called(call))]):
            yield from calls(module, *map(ast.literal_eval, call.args[1:]))


def written(expression: str, alone: bool, applied_to: Any = None, module: Any = None) -> WrittenPass:
    """Write the pass that the text of a ``PassRef`` builds; for a function, where there is one alone.

    What it looks for in what it is ``applied_to`` stands by its place there, where that is known, and the functions of
    the ``module`` that it chooses stand by their names.
    """
    made, options = tree_of(expression), ""
    if _called(made) == CONFIGURED:
        made, options = made.args[0], _text(made.args[1])
        expression = _text(made)
    outer = _Statements()
    if isinstance(getattr(made, "func", None), ast.Lambda):
        made = outer.visit(made)
    if (of_function := _KINDS.get(_called(made))) is None:
        return WrittenPass((), expression, options=options)
    function, (given, within) = made.args[0], (each.arg for each in made.args[0].args.args[:2])
    known = {given: applied_to, within: module}
    inner = _Statements(outer.taken, known={name: value for name, value in known.items() if value is not None})
    function.body = inner.visit(function.body)
    steps = [each for each in inner.before if not isinstance(each, ast.FunctionDef | ast.ClassDef)]
    outer.before += [each for each in inner.before if each not in steps]
    if steps:
        outer.before.append(_function(f"rewritten({given})", [*steps, ast.Return(function.body)]))
        function.body = tree_of(f"rewritten({given})")
    definitions = (*map(_text, outer.before), *_helpers(function.body))
    if of_function and not alone:
        return WrittenPass(definitions, _text(ast.Call(made.func, [function], made.keywords[:1])), options=options)
    return WrittenPass(definitions, _text(function.body), given, of_function, options, within if of_function else "")


def edited(ref: PassRef) -> tuple[str, str, PassRef] | None:
    """Take from the text of a pass what it makes of the module first, and the name that this gives the module.

    Returns:
        The name, the edit, and the pass without it; ``None`` where a pass of TVM's is given the module as it is.
    """
    if ref.is_user or not (form := written(ref.expression, False)).given or form.definitions:
        return None
    match tree_of(form.call):
        case ast.Call(ast.Call() as made, [ast.Call(ast.Attribute(ast.Name(given))) as edit]) if given == form.given:
            return given, _text(edit), PassRef(ref.name, _text(made))
    return None


def plainer(ref: PassRef) -> PassRef | None:
    """Return a pass with the shorter function of ours, or with names for keys; ``None`` where it has no such thing."""
    tree = tree_of(ref.expression)
    for call in ast.walk(tree):
        match call:
            case ast.Call(_, [ast.DictComp(ast.Name(), ast.Name(), [*_, ast.comprehension(_, ast.List(items))]), *_]):
                pairs = [item.elts for item in items if isinstance(item, ast.Tuple)]
                call.args[0] = ast.Dict([key for key, _ in pairs], [value for _, value in pairs])
                return PassRef(ref.name, _text(tree))
        if isinstance(call, ast.Call) and (plain := PLAIN.get(_called(call))):
            call.func, call.args = ast.Name(plain), call.args[:1]
            return PassRef(ref.name, _text(tree))
    return None


def _helpers(call: ast.expr) -> Iterator[str]:
    """Yield the functions of ours that a call needs, without documentation and annotations."""
    for definition in ast.parse(select(HELPERS, _text(call)).text).body:
        for node in ast.walk(definition):
            if isinstance(node, ast.FunctionDef):
                node.returns, node.body = None, node.body[ast.get_docstring(node) is not None :]
            elif isinstance(node, ast.arg):
                node.annotation = None
        yield _text(definition)


@dataclass
class _Statements(ast.NodeTransformer):
    """Takes apart what nests: lambdas and what is bound inside of an expression become statements before it.

    Attributes:
        taken: Names that are used.
        before: The statements.
        known: The values of names that are known.
    """

    taken: set[str] = field(default_factory=set)
    before: list[ast.stmt] = field(default_factory=list)
    known: Mapping[str, Any] = field(default_factory=dict)

    def visit_Call(self, node: ast.Call) -> Any:
        """Bind the parameters of a lambda that is called, the class of a module that is parsed, the first of many."""
        if _called(node) in _KINDS:
            return node  # what it makes a pass of is written where the pass is applied
        if isinstance(node.func, ast.Lambda):
            new = {}
            for each, value in zip(node.func.args.args, map(self.visit, node.args), strict=True):
                new[each.arg] = self._free(each.arg)
                self.before.append(ast.Assign([ast.Name(new[each.arg])], value))
            return self.visit(_renamed(node.func.body, new))
        match _called(node), node.args:
            case "tvm.script.from_source", [ast.Constant(str(source))]:
                made: Any = ast.parse(source).body[0]
                made.name = self._free(made.name)
                self.before.append(made)
                return ast.Name(made.name)
            case "next", [ast.GeneratorExp() as found, _] if self.known and (places := self._places(found)):
                for part, place in zip(found.generators, places, strict=True):
                    self.before.append(ast.Assign([part.target], _item(part.iter, place)))
                return self.visit(found.elt)
            case "next", [ast.GeneratorExp() as found, otherwise]:
                names = ", ".join(_text(each.target) for each in found.generators)
                missing = ast.Tuple([ast.Constant(None)] * len(found.generators))
                first = ast.Call(node.func, [ast.GeneratorExp(tree_of(f"({names})"), found.generators), missing], [])
                none = tree_of(f"{_text(found.generators[0].target)} is None")
                self.before += [ast.Assign([tree_of(names)], first), ast.If(none, [ast.Return(otherwise)], [])]
                return self.visit(found.elt)
        return self.generic_visit(node)

    def _places(self, found: ast.GeneratorExp) -> list[int] | None:
        """Return the place that the first of many has in each of what is gone through; ``None`` where there is none."""
        numbers = [f"place{number}" for number in range(len(found.generators))]
        counted = [
            ast.comprehension(ast.Tuple([ast.Name(number), part.target]), _enumerated(part.iter), part.ifs, 0)
            for number, part in zip(numbers, found.generators, strict=True)
        ]
        first = ast.GeneratorExp(tree_of(f"[{', '.join(numbers)}]"), counted)
        return eval(f"next({_text(first)}, None)", {**namespace(), **self.known})  # type: ignore[no-any-return]  # such a list

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
            context = tree_of(_text(items[0]).removesuffix(".__enter__()"))
            self.before = [ast.With([ast.withitem(context)], self.before)]
        self.before = outer + self.before
        return items[place]

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        """Write out functions of the module that are given by names, or by variables."""
        match node.value:
            case ast.Subscript(ast.Name(module), key) if module in self.known:
                pairs = ast.ListComp(ast.Tuple([node.key, key]), node.generators)
                chosen = eval(_text(pairs), {**namespace(), **self.known})
                names = [str(getattr(key, "name_hint", key)) for key, _ in chosen]
                if len({*names}) == len(names):  # both the name and the variable of one are two keys
                    values = [ast.Subscript(ast.Name(module), ast.Constant(str(each.name_hint))) for _, each in chosen]
                    return ast.Dict([*map(ast.Constant, names)], [*values])
        return self.generic_visit(node)  # type: ignore[return-value]  # an expression, like the node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        self.before.append(ast.Assign([node.target], self.visit(node.value)))
        return ast.Name(node.target.id)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        name, value, cases = self._free("rewrite"), node.body, []
        while isinstance(value, ast.IfExp):
            cases.append(ast.If(value.test, [ast.Return(value.body)], []))
            value = value.orelse
        self.before.append(_function(f"{name}({_text(node.args)})", [*cases, ast.Return(value)]))
        return ast.Name(name)

    def _free(self, name: str) -> str:
        numbered = (f"{name}{number or ''}" for number in itertools.count())
        new = next(each for each in numbered if each not in self.taken)
        self.taken.add(new)
        return new


def _enumerated(sequence: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("enumerate"), [sequence], [])


def _item(sequence: Any, place: int) -> ast.expr:
    """Write an item of a sequence; of one that is reversed, from its end."""
    text = _text(sequence)
    if _called(sequence) == "reversed":
        text, place = _text(sequence.args[0]), -1 - place
    return ast.Subscript(tree_of(text), ast.Constant(place))


def _function(head: str, body: list[ast.stmt]) -> ast.stmt:
    made: Any = ast.parse(f"def {head}: pass").body[0]
    made.body = body
    return made  # type: ignore[no-any-return]  # a definition


def _renamed(tree: Any, names: Mapping[str, str]) -> Any:
    """Return an expression in which texts stand in the place of names."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return tree_of(names[node.id]) if node.id in names else node

    return Renaming().visit(tree)


def _called(tree: Any) -> str:
    """Return the text of what an expression calls; empty where it calls nothing."""
    return _text(tree.func) if isinstance(tree, ast.Call) else ""


def _text(tree: ast.AST) -> str:
    """Write a tree, with the quotes of TVM's own code."""
    text = ast.unparse(ast.fix_missing_locations(tree))
    return (text if '"' in text else text.replace("'", '"')).replace(":\n\n", ":\n")
