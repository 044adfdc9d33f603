"""Patterns for FuseOpsByPattern, drawn from the chains of operators that the module has."""

from __future__ import annotations

from strategies.constructs.composites import ABSENT, EXTERNAL
from strategies.detect.module_facts import Facts
from strategies.pass_arguments.row import call, some, strings
from strategies.scope.chains import Term, TermKind
from strategies.scope.choices import Choices

COMMON: tuple[tuple[str, str], ...] = (
    ("add", 'is_op("relax.add")(wildcard(), wildcard())'),
    ("exp", 'is_op("relax.exp")(wildcard())'),
    ("matmul_add", 'is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())'),
)
"""For a module of which nothing is known."""

CHECKS = (
    "lambda context: True",
    "lambda context: len(context.matched_bindings) > 1",
    "lambda context: isinstance(context.matched_expr, relax.Call)",
    'lambda context: "root" in context.annotated_expr',
    "lambda context: all(len(uses) < 3 for uses in context.var_usages.values())",
    "lambda context: False",
)
"""Conditions on a match, by what a check is told."""

_FOLLOWERS = ("relax.nn.relu", "relax.exp", "relax.negative")


# Taken out of the registry again: other cases of the process must not find them.
_REGISTERED = (
    "(lambda given, registry: [registry.register_patterns(given), relax.transform.FuseOpsByPattern("
    "registry.get_patterns_with_prefix('{backend}.')), "
    "registry._ffi_api.RemovePatterns([each[0] for each in given])][1])([{patterns}], relax.backend.pattern_registry)"
)


_CUTLASS = '__import__("tvm.relax.backend.cuda.cutlass").relax.backend.get_patterns_with_prefix("cutlass")'
"""The patterns of TVM with most conditions, which are checked on a CPU as well."""


def fuse_by_pattern(choices: Choices, facts: Facts) -> str:
    """Draw FuseOpsByPattern: one to three patterns, longer ones first, since the first match takes its operators."""
    terms = choices.subset(facts.chains)[:3] if facts.chains else []
    drawn = [drawn_pattern(choices, term) for term in terms] or [choices.pick(COMMON)]
    backend = ABSENT if choices.index(16) == 15 else EXTERNAL
    patterns = ", ".join(_entry(choices, f"{backend}.{name}", text) for name, text in drawn)
    way = choices.index(16)
    if way == 13:
        return call("FuseOpsByPattern", _CUTLASS)
    if way >= 14:
        return _REGISTERED.format(patterns=patterns, backend=backend)
    return call(
        "FuseOpsByPattern",
        f"[{patterns}]",
        some(choices, "bind_constants=False", 2),
        some(choices, "annotate_codegen=True", 2),
        some(choices, f"entry_functions={strings(choices.subset(facts.names[:8]))}", 6),
    )


def drawn_pattern(choices: Choices, term: Term) -> tuple[str, str]:
    """Return the name and text of a pattern that matches the term; sometimes one that need not."""
    names: list[str] = []
    text = _call(choices, term, names)
    way = choices.index(12)
    if way == 11:  # what may follow
        text = f'(lambda x: is_op("{choices.pick(_FOLLOWERS)}")(x) | x)({text})'
    elif way == 10:  # one of two
        text = f'({text} | is_op("{choices.pick(_FOLLOWERS)}")(wildcard()))'
    return "_".join(names[:4]), text


def _call(choices: Choices, term: Term, names: list[str]) -> str:
    parts = [_part(choices, part, names) for part in term.parts]
    names.append(term.operator.rpartition(".")[2])
    return f'is_op("{term.operator}")({", ".join(parts)})'


def _part(choices: Choices, term: Term, names: list[str]) -> str:
    deeper = term.size and choices.index(4) < 3
    if term.kind is TermKind.CALL and deeper:
        return _call(choices, term, names)
    if term.kind is TermKind.ITEM and deeper:
        return f"is_tuple_get_item({_part(choices, term.parts[0], names)}, {term.index})"
    if term.kind is TermKind.TUPLE and choices.index(2):
        return f"is_tuple([{', '.join(_part(choices, part, names) for part in term.parts)}])"
    if term.kind is TermKind.CONSTANT and choices.index(2):
        return "is_const()"
    text = "wildcard()"
    if term.dtype and choices.index(8) == 7:
        text += f'.has_dtype("{term.dtype}")'
    if term.dims is not None and choices.index(8) == 7:
        text += f".has_shape({list(term.dims)})"
    return text


def _entry(choices: Choices, name: str, text: str) -> str:
    """Return a tuple that FusionPattern takes: the pattern alone, or with names for parts, a check, and attributes."""
    way = choices.index(4)
    if way < 2:
        return f'("{name}", {text})'
    check = choices.pick(CHECKS)
    attributes = ', lambda annotated: {"note": "matched"}' if way == 3 else ""
    return f'(lambda root: ("{name}", root, {{"root": root}}, {check}{attributes}))({text})'
