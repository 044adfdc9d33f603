"""Rewriters of ``tvm.relax.dpl`` and edits of dataflow blocks, as passes that users make of them.

Each rule keeps what the program computes, to the bit, and comes to an end: what it makes holds nothing that it matches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from strategies.detect.module_facts import Facts
from strategies.pass_arguments.patterns import drawn_pattern
from strategies.scope.chains import Term, TermKind
from strategies.scope.choices import Choices

_NUMBERS = ("float32", "float64", "int32", "int64")
_BOOL = ("bool",)
_ANY = ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool")


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """A replacement for the calls of an operator.

    Attributes:
        operator: Name of the operator.
        operands: How many it takes.
        becomes: Text of what replaces it: ``{0}``, ``{1}`` are the operands, ``{dtype}`` the dtype of the result.
        dtypes: Dtypes of the result for which it computes the same.
        same: Whether it is for calls that take one operand twice.
    """

    operator: str
    operands: int
    becomes: str
    dtypes: tuple[str, ...] = _NUMBERS
    same: bool = False


# Not to dims of 0, which mean "as before": test_op_manipulate.py in TVM's tests, (2, 3, 0, 5) for (2, 3, 4, 5).
_RESHAPED = (
    "(relax.op.reshape({0}, call.ty.shape) if isinstance(call.ty.shape, relax.ShapeExpr) "
    'and all(getattr(dim, "value", 1) for dim in call.ty.shape.values) else call)'
)
RULES: tuple[OperatorRule, ...] = (
    OperatorRule("relax.subtract", 2, "relax.op.add({0}, relax.op.negative({1}))"),
    OperatorRule("relax.add", 2, "relax.op.multiply({0}, relax.const(2, {dtype}))", same=True),
    OperatorRule("relax.nn.relu", 1, "relax.op.maximum({0}, relax.const(0, {dtype}))"),
    OperatorRule("relax.square", 1, "relax.op.multiply({0}, {0})"),
    OperatorRule("relax.negative", 1, "relax.op.multiply({0}, relax.const(-1, {dtype}))"),
    OperatorRule("relax.greater", 2, "relax.op.less({1}, {0})", _BOOL),
    OperatorRule("relax.greater_equal", 2, "relax.op.less_equal({1}, {0})", _BOOL),
    OperatorRule("relax.not_equal", 2, "relax.op.logical_not(relax.op.equal({0}, {1}))", _BOOL),
    OperatorRule("relax.expand_dims", 1, _RESHAPED, _ANY),
    OperatorRule("relax.squeeze", 1, _RESHAPED, _ANY),
    OperatorRule("relax.flatten", 1, _RESHAPED, _ANY),
)
_BY_OPERATOR = {rule.operator: rule for rule in RULES}
_COPIES = (
    "call",
    "relax.Call(call.op, call.args, call.attrs, call.ty_args) if isinstance(call, relax.Call) else call",
    "relax.TupleGetItem(relax.Tuple([call, call]), 1) if isinstance(call, relax.Call) else call",
    (
        "relax.Call(call.op, [found[each] for each in pattern.args], call.attrs, call.ty_args) if "
        "isinstance(call, relax.Call) and isinstance(pattern, relax.dpl.pattern.CallPattern) "
        "and len(pattern.args) == len(call.args) else call"
    ),
    (
        "relax.Tuple([relax.Call(v.op, v.args, v.attrs, v.ty_args) if isinstance(v, relax.Call) else v "
        "for v in call.fields]) if isinstance(call, relax.Tuple) else call"
    ),
)
"""What computes the same as anything that a pattern matches: the call itself, a copy of it, one of two, a call of what
its parts matched, a tuple of copies."""


def _pass(body: str, name: str) -> str:
    return f'relax.transform.function_pass(lambda f, mod, _: {body}, opt_level=0, name="{name}")'


def _module_pass(body: str) -> str:
    return f'tvm.transform.module_pass(lambda mod, _: {body}, opt_level=0, name="PatternMatchingRewriter")'


def rewrites_something(facts: Facts) -> bool:
    """Say whether a module has an operator that a rule is for."""
    return not facts.operators.isdisjoint(_BY_OPERATOR)


def _rule(choices: Choices, facts: Facts) -> OperatorRule | None:
    known = [rule for rule in RULES if rule.operator in facts.operators]
    return choices.pick(known) if known and choices.index(4) < 3 else None


def _matched(choices: Choices, facts: Facts) -> tuple[str, str]:
    """Draw a pattern, and the body of a function that replaces what it matches."""
    rule = _rule(choices, facts)
    if rule is None:
        return _chain(choices, facts), choices.pick(_COPIES)
    parts = [choices.pick(_PARTS) if choices.index(3) == 2 else "wildcard()" for _ in range(rule.operands)]
    root = f'is_op("{rule.operator}")({", ".join(parts)})'
    if rule.same:
        root = f'(lambda x: is_op("{rule.operator}")(x, x))(wildcard())'
    found = "pattern.args[{}]"
    way = choices.index(8)
    if way == 5:
        root, found = f'{root}.has_dtype("{choices.pick(rule.dtypes)}")', "pattern.pattern.args[{}]"
    elif way == 6:
        root, found = f"({root} & ~is_const())", "pattern.left.args[{}]"
    operand = f"found[{found}]" if choices.index(3) < 2 else "call.args[{}]"
    return root, _guarded(rule, [operand.format(index) for index in range(rule.operands)])


_PARTS = (
    "(wildcard() | is_const())",
    "(~is_const())",
    "is_const()",
    'wildcard().has_dtype("float32")',
    'wildcard().has_ty(R.Tensor("float32"))',
    "wildcard().has_ty(R.Tensor(ndim=2))",
    "relax.dpl.is_var()",
    "relax.dpl.is_dfv()",
    'is_op("relax.exp")(wildcard())',
)
"""Patterns of operands: some match nearly anything, some little."""


def _guarded(rule: OperatorRule, operands: list[str]) -> str:
    """Return the text of what a rule makes of a call, where it is for the call's dtype; the call itself otherwise."""
    becomes = rule.becomes.format(*operands, dtype="str(call.ty.dtype)")
    # A pattern of an operator matches aliases of its result, too.
    return f"{becomes} if isinstance(call, relax.Call) and str(call.ty.dtype) in {rule.dtypes} else call"


_LONE = (
    "is_tuple([wildcard(), wildcard()])",
    "is_tuple([wildcard(), wildcard()], unordered=True)",
    "is_tuple_get_item(wildcard())",
    "is_tuple_get_item(wildcard(), 1)",
    'relax.dpl.is_call_tir("")',
    'relax.dpl.is_call_packed("")',
    'relax.dpl.is_call_dps_packed("")',
    "relax.dpl.pattern.FunctionPattern([wildcard()], wildcard())",
    "wildcard().has_shape([2, 3])",
    'is_op("relax.reshape")(wildcard(), relax.dpl.is_shape([2, 3]))',
    "wildcard()",
)
"""Patterns of no operator."""


def _chain(choices: Choices, facts: Facts) -> str:
    """Draw a pattern of the module's own operators, or one of none."""
    way = choices.index(8)
    if way == 7 or not facts.chains:
        return choices.pick(_LONE)
    first = choices.pick(facts.chains)
    text = drawn_pattern(choices, first)[1]
    if way == 4:
        return f'is_op("{first.operator}")(varg_default_wildcard=True)'
    if way == 5:
        fields = [drawn_pattern(choices, choices.pick(facts.chains))[1] for _ in range(2 + choices.index(3))]
        return f"is_tuple([{', '.join(fields)}]{', unordered=True' if choices.index(4) == 3 else ''})"
    if way == 6:
        return f"{text}.has_attr({choices.pick(_ATTRIBUTES)})"
    return text


_ATTRIBUTES = ('{"axis": 0}', '{"axis": 1}', '{"keepdims": True}', '{"out_dtype": "void"}', '{"axis": -1}')


def calls(choices: Choices, facts: Facts) -> str:
    """Draw rewrite_call, on each function."""
    pattern, becomes = _matched(choices, facts)
    made = _pass(f"relax.dpl.rewrite_call(pattern, lambda call, found: {becomes}, f)", "rewrite_call")
    return f"(lambda pattern: {made})({pattern})"


_SOURCE = """@I.ir_module
class Rewriter:
    @R.function
    def pattern({parameters}):
        return {pattern}

    @R.function
    def replacement({parameters}):
        return {replacement}
"""
_SOURCES: tuple[tuple[str, str, str], ...] = (
    ("x: {float}, y: {float}", "R.subtract(x, y)", "R.add(x, R.negative(y))"),
    ("x: {float}", "R.nn.relu(x)", 'R.maximum(x, R.const(0, "float32"))'),
    ("x: {float}", "R.square(x)", "R.multiply(x, x)"),
    ("x: {int}, y: {int}", "R.greater(x, y)", "R.less(y, x)"),
    ("x: {float}, y: {float}", "R.greater_equal(x, y)", "R.less_equal(y, x)"),
    ("x: {float}", "R.negative(R.negative(x))", "x"),
    ("x: {float}", "R.permute_dims(R.permute_dims(x))", "x"),
    ("x: {float}", "(R.exp(x), R.negative(x))", '(R.exp(x), R.multiply(x, R.const(-1, "float32")))'),
    ("x: {float}", "R.max(x, axis=[0])", "R.negative(R.min(R.negative(x), axis=[0]))"),
)
"""Parameters, pattern and replacement."""


_SUBROUTINE = """
    @R.function(private=True)
    def subroutine({parameters}) -> {returns}:
        return {replacement}
"""
_PLAIN = ("exp", "tanh", "negative", "sigmoid", "abs", "sqrt", "log", "sin", "cos", "erf", "floor", "nn.relu", "square")
"""Operators of one operand and no attribute."""


def _from_module(choices: Choices, facts: Facts, known: tuple[tuple[str, str, str], ...]) -> str:
    parameters, pattern, replacement = choices.pick(known)
    ranks = [len(term.dims) for term in facts.chains if term.dims is not None and term.operator[6:] in pattern]
    rank = choices.pick(ranks) if ranks else 1 + choices.index(3)
    rank = max(rank, 1 if "axis" in pattern else 0)
    shape = repr(tuple(f"d{index}" for index in range(rank)))
    # Once in four times the shape is left open, as in the example of the documentation.
    kinds = {
        kind: f'R.Tensor("{kind}32")' if choices.index(4) == 3 else f'R.Tensor({shape}, "{kind}32")'
        for kind in ("float", "int")
    }
    # Where the result has the type of the first parameter, a function can be declared that gives it.  A function that
    # leaves the shape open builds in no module, and the rewriter brings it as it was given.
    returns = "" if pattern.startswith(_OTHER_TYPES) or shape not in kinds["float"] else kinds["float"]
    return _module_rewriter(choices, parameters.format(**kinds), pattern, replacement, returns)


_OTHER_TYPES = ("(", "R.greater", "R.max")


def _module_rewriter(choices: Choices, parameters: str, pattern: str, replacement: str, returns: str) -> str:
    """Return the text of a rewriter; where the result's type is known, half of the time a function computes it."""
    given, behind = replacement, ""
    if returns and choices.index(2):
        names = ", ".join(re.findall(r"(\w+): R", parameters))
        given, behind = f"Rewriter.subroutine({names})", _SUBROUTINE
    source = _SOURCE.format(parameters=parameters, pattern=pattern, replacement=given)
    source += behind.format(parameters=parameters, replacement=replacement, returns=returns)
    return f"relax.dpl.PatternMatchingRewriter.from_module(tvm.script.from_source({source!r}))"


def _tuple_fields(facts: Facts) -> list[Term]:
    """List calls that fields of a tuple can be: those of plain operators on tensors of known shape."""
    terms = [*(part for term in facts.chains for each in term.parts for part in each.parts), *facts.chains]
    plain = [
        term
        for term in terms
        if term.dims is not None and term.parts and term.operator.removeprefix("relax.") in _PLAIN
    ]
    return list(dict.fromkeys(plain))


def _of_tuples(choices: Choices, fields: list[Term]) -> str:
    """Draw a rewriter of two or three values together, which stand in a tuple or by themselves."""
    chosen = [choices.pick(fields) for _ in range(2 + choices.index(2))]
    types = [f'R.Tensor({term.dims}, "{term.dtype}")' for term in chosen]
    parameters = ", ".join(f"x{at}: {ty}" for at, ty in enumerate(types))
    computed = ", ".join(f"R.{term.operator.removeprefix('relax.')}(x{at})" for at, term in enumerate(chosen))
    return _module_rewriter(choices, parameters, f"({computed})", f"({computed})", f"R.Tuple({', '.join(types)})")


def _present(facts: Facts) -> tuple[tuple[str, str, str], ...]:
    """List the rewriters of which the module has the operator."""
    names = ((each, each[1].strip("(").split("(")[0][2:]) for each in _SOURCES)
    return tuple(each for each, name in names if f"relax.{name}" in facts.operators)


def _rewriter(choices: Choices, facts: Facts) -> str:
    if (fields := _tuple_fields(facts)) and choices.index(3) == 2:
        return _of_tuples(choices, fields)
    present = _present(facts)
    if (present and choices.index(3)) or not choices.index(4):
        return _from_module(choices, facts, present or _SOURCES)
    pattern, becomes = _matched(choices, facts)
    made = "relax.dpl.PatternMatchingRewriter.from_pattern"
    return f"(lambda pattern: {made}(pattern, lambda call, found: {becomes}))({pattern})"


def rewriter(choices: Choices, facts: Facts) -> str:
    """Draw PatternMatchingRewriter: of a pattern, of a module with pattern and replacement, or of two of these."""
    text = _rewriter(choices, facts)
    if choices.index(4) == 3:
        more = _rewriter(choices, facts)
        if (present := _present(facts)) and choices.index(2):  # two that may bring functions
            text, more = (_from_module(choices, facts, present) for _ in range(2))
        text = f"{text} | {more}"
    return f"(lambda rewriter: {_module_pass('rewriter(mod)')})({text})"


def _links(facts: Facts) -> list[tuple[Term, Term]]:
    """List the pairs of operators of which the second takes the result of the first."""
    pairs = [(part, term) for term in facts.chains for part in term.parts if part.kind is TermKind.CALL]
    return list(dict.fromkeys(pairs))


_BETWEEN = "relax.op.negative"
_NEW = "relax.Call(bound[found[b]].op, bound[found[b]].args, bound[found[b]].attrs, bound[found[b]].ty_args)"
_SAME = ("{found[b]: bound[found[b]]}", f"{{found[b]: {_NEW}}} if isinstance(bound[found[b]], relax.Call) else {{}}")
"""What may be bound to a variable in place of the call that is bound to it."""
# Where nothing else uses the first value, it can be another one, if its only user undoes the change.
_ONLY_USER = (
    "{found[a]: relax.op.negative(bound[found[a]]), found[b]: relax.Call(bound[found[b]].op, "
    "[relax.op.negative(v) if v.same_as(found[a]) else v for v in bound[found[b]].args], bound[found[b]].attrs, "
    "bound[found[b]].ty_args)} "
    "if isinstance(bound[found[a]], relax.Call) and isinstance(bound[found[b]], relax.Call) "
    "and isinstance(found[a], relax.DataflowVar) and str(found[a].ty.dtype) in ('float32', 'int32') "
    "and all(isinstance(v, relax.Var) for v in bound[found[b]].args) else {}"
)


def bindings(choices: Choices, facts: Facts) -> str:
    """Draw rewrite_bindings: two operators of which one uses the other, or the only user of the other; or one alone."""
    links = _links(facts)
    way = choices.index(6)
    if links:
        first, second = choices.pick(links)
        names = (first.operator, second.operator)
    else:
        names, way = ("relax.exp", choices.pick(tuple(sorted(facts.operators)) or ("relax.add",))), way % 3
    a, b = (f'is_op("{name}")(varg_default_wildcard=True)' for name in names)
    becomes = choices.pick(_SAME)
    if way >= 3 and _BETWEEN[9:] not in names[1] and _BETWEEN[9:] not in names[0]:
        link, becomes = "a >> b", _ONLY_USER
    else:
        link = choices.pick(
            ("a ^ b", "a.used_by(b, 0)", "a.fork_to(b)", "a >> b", "[a ^ b, a.same_shape_as(b)]", "(a ^ b).dup()")
        )
    made = _pass(f"relax.dpl.rewrite_bindings(ctx, lambda found, bound: {becomes}, f)", "rewrite_bindings")
    if link == "a ^ b" and choices.index(2):  # in a context of its own, which has the links of the one around it
        made = _within("True", f"(a.used_by(b, 0), {made})[1]")
    return _within("", f"(lambda a, b: ({link}, {made})[1])({a}, {b})")


def _within(incremental: str, text: str) -> str:
    entered = f"[ctx.__enter__(), {text}, ctx.__exit__(None, None, None)][1]"
    return f"(lambda ctx: {entered})(relax.dpl.PatternContext({incremental}))"


# The first call of an operator in a dataflow block, or the last one of a block, and an edit of its block.
_EDIT = (
    "next(([edit := relax.DataflowBlockRewrite(k, f), {actions}, {result}][-1] "
    "for k in f.body.blocks if isinstance(k, relax.DataflowBlock) for b in {bindings} "
    "if isinstance(b, relax.VarBinding) and isinstance(b.value, relax.Call){condition}), f)"
)
_FLOAT = ' and isinstance(b.var.ty, relax.TensorType) and str(b.var.ty.dtype) == "float32"'
_AGAIN = (
    'again := type(b.var)("again", b.var.ty), edit.add_binding(relax.VarBinding(again, b.value)), '
    "edit := relax.DataflowBlockRewrite(edit.mutated_dfb(), edit.mutated_root_fn()), "
    "edit.replace_all_uses(b.var, again), edit.remove_unused(b.var)"
)
# The function alone, or in the module that has it.
_RESULTS = ("edit.mutated_root_fn()", 'edit.mutate_irmodule(tvm.IRModule({"main": f}))["main"]')
_EDITS: tuple[tuple[str, str], ...] = (
    ("edit.remove_all_unused()", ""),
    ('edit.add(b.value, "again", True)', ""),
    ("edit.add(b.value)", ""),
    ('edit.add(b.value, "again", True), edit.remove_all_unused()', ""),
    (_AGAIN, ""),
    ('edit.add(relax.BlockBuilder().normalize(relax.op.negative(b.var)), "again"), edit.remove_all_unused()', _FLOAT),
    ("edit.remove_unused(b.var)", " and not relax.analysis.udchain(k)[b.var] and isinstance(b.var, relax.DataflowVar)"),
)
"""Edits that keep what the function computes, each with what must be true of the binding."""


def edits(choices: Choices, facts: Facts) -> str:
    """Draw an edit of a dataflow block of each function: nothing that is used changes its value."""
    actions, condition = choices.pick(_EDITS)
    within = choices.pick(("k.bindings", "reversed(k.bindings)"))
    result = choices.pick(_RESULTS[: 1 if actions == _AGAIN else 2])
    text = _EDIT.format(actions=actions, bindings=within, condition=condition, result=result)
    return _pass(text, "DataflowBlockRewrite")
