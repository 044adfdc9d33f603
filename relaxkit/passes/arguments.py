"""Arguments of passes, read from the texts that build them, and the inputs that they fix."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from relaxkit.ir.domain import Given
from relaxkit.ir.functions import relax_items
from relaxkit.ir.retype import Invalid, dtype_of
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take
from relaxkit.passes.pass_ref import PassRef, namespace

CONFIGURED = "configured"
"""The function of :mod:`relaxkit.passes.helpers`."""


class NotLiteral(ValueError):
    """An argument of a pass is not what the text of its reference can tell."""


def given_of(passes: Sequence[tuple[str, str]]) -> Given:
    """Say what passes, as (name, expression), fix.

    ``BindSymbolicVars`` gives dims their values, ``BindParams`` turns parameters into constants.

    Raises:
        NotLiteral: The arguments of such a pass are not plain names and values.
    """
    dims: dict[str, int] = {}
    values: dict[tuple[str, str], np.ndarray[Any, Any]] = {}
    for name, expression in passes:
        if name == "BindSymbolicVars":
            binding = arguments_of(expression).get("0", {})
            for dim, bound in _items(binding):
                value = int(bound) if isinstance(bound, tirx.IntImm) else bound
                if not isinstance(value, int) or dims.setdefault(dim, value) != value:
                    raise NotLiteral("a dim is bound to something other than one integer")
        elif name == "BindParams":
            function, binding = binding_of(expression)
            for parameter, value in _items(binding):
                values.setdefault((function, parameter), _plain(value))  # bound once, it is no parameter any more
    return Given(dims, values)


def binding_of(expression: str) -> tuple[str, Any]:
    """Return the function and binding of an expression that builds ``BindParams``, parameters by name.

    Raises:
        NotLiteral: The text does not tell.
    """
    arguments = arguments_of(expression)
    return str(arguments.get("0")), arguments.get("1", {})


def misfit(name: str, expression: str, module: Any) -> str:
    """Say why the values of a ``BindParams`` or ``BindSymbolicVars`` are not for this module; empty when they are.

    Arguments are drawn for the module as it is given.  An earlier pass of the pipeline may have bound its dims to other
    numbers (``BindSymbolicVars``) or changed its dtypes, and the answers of the user then contradict each other; so
    may what makes a module smaller.  A number for a dim may also be one that an operator does not take, which only
    shows when the types of the module are inferred with it.
    """
    numbers, values = dict[Any, int](), dict[str, Any]()
    try:
        if name == "BindSymbolicVars":
            arguments = arguments_of(expression)
            named, values = arguments.get("1"), {dim: int(value) for dim, value in _items(arguments.get("0", {}))}
        elif name == "BindParams":
            named, binding = binding_of(expression)
            values = {parameter: _plain(value) for parameter, value in _items(binding)}
        else:
            return ""
    except (NotLiteral, TypeError):
        return ""
    for function in (f for var, f in relax_items(module) if named in (None, var.name_hint)):
        if name == "BindSymbolicVars":
            dims = relax.analysis.defined_symbolic_vars(function)
            numbers |= {dim: values[dim.name] for dim in dims if dim.name in values}
            continue
        for parameter, value in ((each, values[each.name]) for each in function.params if each.name in values):
            if isinstance(parameter.ty, relax.TensorType) and not _fits(value, parameter.ty):
                return "a value has another shape or dtype than its parameter"
            sizes = zip(getattr(getattr(parameter.ty, "shape", None), "values", ()), value.shape, strict=False)
            numbers |= {dim: size for dim, size in sizes if isinstance(dim, tirx.Var)}
    if not numbers:
        return ""
    sketch = take(module)
    sketch.retype.symbols.update({dim: tirx.IntImm(dtype_of(dim), value) for dim, value in numbers.items()})
    try:
        emit(sketch)
    except Invalid as error:
        return "an operator does not take the number of a dim" if error.__cause__ is not None else ""
    return ""


def _fits(value: np.ndarray[Any, Any], ty: Any) -> bool:
    if ty.ndim not in (-1, value.ndim) or (ty.dtype and str(ty.dtype) != str(value.dtype)):
        return False
    dims = ty.shape.values if isinstance(ty.shape, relax.ShapeExpr) else ()
    return all(int(dim) == size for dim, size in zip(dims, value.shape, strict=False) if isinstance(dim, tirx.IntImm))


def _bound(tree: ast.expr) -> dict[str, Any] | None:
    """Return the arguments of a ``BindParams`` or ``BindSymbolicVars`` whose keys are variables; else ``None``.

    The variables are those of the module that the pass will be applied to.  A text that is to build the pass for any
    module looks them up by name when it meets the module::

        tvm.transform.module_pass(
            lambda mod, ctx: relax.transform.BindParams(
                "f", {p: v for p in mod["f"].params for n, v in [("v", array_of_v), ("w", array_of_w)] if p.name == n}
            )(mod),
            opt_level=0, name="BindParams")
    """
    if (call := _call_of("BindParams", tree)) not in (None, tree):
        return {"0": _evaluated(call.args[0]), "1": _by_variable(call.args[1])}
    call = _call_of("BindSymbolicVars", tree)
    if call in (None, tree):
        return None
    return {"0": _by_variable(call.args[0])} | {str(at): _evaluated(call.args[at]) for at in range(1, len(call.args))}


def _by_variable(binding: ast.expr) -> dict[str, Any]:
    """Return the ``{p: v for p in ... for n, v in ITEMS if p.name == n}`` as a dictionary by name."""
    try:
        return dict(_evaluated(binding.generators[1].iter))  # type: ignore[attr-defined]  # what has no generators is caught
    except (AttributeError, ValueError, TypeError, IndexError) as error:
        raise NotLiteral("a binding by variables of another form") from error


def _plain(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.numpy() if isinstance(value, tvm.runtime.Tensor) else value)


def tree_of(expression: str) -> Any:
    """Return the tree of the text of a pass; of what is none, that of ``None``."""
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError:
        return ast.Constant(None)


def _evaluated(tree: ast.expr) -> Any:
    # The text is our own strategy's or a stored case's, as in PassRef.build.
    return eval(compile(ast.Expression(tree), "<pass>", "eval"), namespace())


def _items(binding: Any) -> list[tuple[str, Any]]:
    if not isinstance(binding, dict) or not all(isinstance(name, str) for name in binding):
        raise NotLiteral("a binding is not a dictionary of names")
    return list(binding.items())


def arguments_of(expression: str) -> dict[str, Any]:
    """Return the arguments of the call that builds a pass: keywords by name, positional ones under ``"0"``, ``"1"``,
    ...

    Raises:
        NotLiteral: An argument cannot be evaluated over the names of a pass expression.
    """
    tree = tree_of(expression)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == CONFIGURED:
        tree = tree.args[0]  # the pass that gets the options
    if not isinstance(tree, ast.Call):
        return {}
    if (bound := _bound(tree)) is not None:
        return bound
    named: list[tuple[str, ast.expr]] = [(str(index), value) for index, value in enumerate(tree.args)]
    named += [(keyword.arg, keyword.value) for keyword in tree.keywords if keyword.arg is not None]
    found: dict[str, Any] = {}
    for name, value in named:
        try:
            found[name] = _evaluated(value)
        except Exception as error:
            raise NotLiteral(f"argument {name} cannot be evaluated") from error
    return found


def text_has(expression: str, pattern: str) -> bool:
    """Say whether a regular expression is found in the text that builds a pass."""
    return re.search(pattern, expression) is not None


def leaves_operator(expression: str, operator: str) -> bool:
    """Say whether LegalizeOps is told to skip an operator, or given a function for it that gives the call back.

    A function that lowers is no excuse for a call that is left.
    """
    name = re.escape(f'"relax.{operator}"')
    skipped = rf"skip_ops=\[[^]]*{name}"
    return text_has(expression, rf"{skipped}|{name}: lambda (\w+), (\w+): \2(?=\s*[,}}])")


def written_arguments(expression: str) -> dict[str, str]:
    """Return the arguments that :func:`arguments_of` gives as they are written, without evaluating them."""
    tree = tree_of(expression)
    if not isinstance(tree, ast.Call):
        return {}
    named = [(str(index), value) for index, value in enumerate(tree.args)]
    named += [(keyword.arg, keyword.value) for keyword in tree.keywords if keyword.arg is not None]
    return {name: ast.get_source_segment(expression, value) or ast.unparse(value) for name, value in named}


def arguments_text(expression: str) -> str:
    """Write what :func:`arguments_of` gives as the text of a dictionary, without evaluating it."""
    return "{" + ", ".join(f"{name!r}: {value}" for name, value in written_arguments(expression).items()) + "}"


def keywords_text(name: str, expression: str, known: Collection[str]) -> str:
    """Write the keyword arguments of a pass that name something known, as ``fp16_input_names=["w0"]`` a parameter."""
    call = _call_of(name, tree_of(expression))
    written = [ast.unparse(keyword).replace("'", '"') for keyword in (call.keywords if call is not None else [])]
    return ", ".join(each for each in written if not names_in(each).isdisjoint(known))


def parts_of(ref: PassRef) -> tuple[PassRef, ...]:
    """Return the passes of a ``Sequential`` that a text builds; of another text the pass itself."""
    tree = tree_of(ref.expression)
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != "tvm.transform.Sequential":
        return (ref,)
    parts = tree.args[0].elts if isinstance(tree.args[0], ast.List) else ()
    texts = [ast.get_source_segment(ref.expression, each) or "" for each in parts]
    return tuple(PassRef(text.partition("(")[0].rpartition(".")[2], text) for text in texts)


def has_options_alone(expression: str) -> bool:
    """Say whether an expression builds a pass without arguments, whatever options it is configured with."""
    return re.search(rf"^({CONFIGURED}\()?[\w.]+\(\)", expression) is not None


def patterns_in(expression: str) -> Iterator[Any]:
    """Yield the patterns that stand in the text of a pass, with their parts, each made anew."""
    for call in ast.walk(tree_of(expression)):
        with contextlib.suppress(Exception):  # what needs names of its surroundings
            made = _evaluated(call) if isinstance(call, ast.Call) else None
            if isinstance(made, relax.dpl.DFPattern):
                yield made


def names_in(expression: str) -> frozenset[str]:
    """List the names that stand in quotes in the text of a pass, for instance of functions that it is asked for."""
    return frozenset(re.findall(r"""["'](\w+)["']""", expression))


@dataclass(frozen=True, slots=True)
class GradientRequest:
    """Arguments of ``Gradient``: parameters are ``None`` for all, ``target`` is the field of a returned tuple."""

    function: str
    parameters: tuple[str, ...] | None
    target: int


def _call_of(name: str, tree: ast.expr) -> ast.Call | None:
    """Return the call in a text that builds the pass of this name; ``None`` where there is none."""
    calls = (each for each in ast.walk(tree) if isinstance(each, ast.Call))
    return next((each for each in calls if getattr(each.func, "attr", "") == name), None)


def gradient_request(expression: str) -> GradientRequest | None:
    """Return what an expression that builds ``Gradient`` asks for; ``None`` when its text does not tell.

    ``require_grads`` takes variables of the module that the pass will be applied to.  A text that is to build the pass
    for any module looks them up by name when it meets the module::

        tvm.transform.module_pass(
            lambda mod, ctx: relax.transform.Gradient("f", [p for p in mod["f"].params if p.name in ("w",)], 0)(mod),
            opt_level=0, name="Gradient")
    """
    if (call := _call_of("Gradient", tree_of(expression))) is None:
        return None
    given = dict(zip(("func_name", "require_grads", "target_index"), call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    return _request(given)


def _request(given: dict[str, ast.expr]) -> GradientRequest | None:
    try:
        function = ast.literal_eval(given["func_name"])
        target = ast.literal_eval(given.get("target_index", ast.Constant(0)))
        asked = given.get("require_grads", ast.Constant(None))
        if isinstance(asked, ast.ListComp):
            condition = asked.generators[0].ifs[0]
            assert isinstance(condition, ast.Compare)
            return GradientRequest(function, tuple(ast.literal_eval(condition.comparators[0])), target)
        return GradientRequest(function, None, target) if ast.literal_eval(asked) is None else None
    except (ValueError, KeyError, IndexError, AssertionError):
        return None
