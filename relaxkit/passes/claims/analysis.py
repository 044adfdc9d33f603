"""What ``tvm.relax.analysis`` and ``tvm.relax.dpl`` tell of a module: variables, uses, types, recursion, patterns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import closed, relax_functions
from relaxkit.ir.walk import Place, expressions, places
from relaxkit.passes.claims.common import placed, variables_read
from relaxkit.passes.contract import claimed
from relaxkit.passes.questions import Question, asking

_MOST_TYPES = 8
_OF = "relax.analysis."


def _at(place: Place, name: str) -> str:
    """Say what is bound, and where: ``lv inside an If of main``."""
    around = "inside a local function of" if place.local else "inside an If of" if place.branches else "in"
    return f"{place.var.name} {around} {name}"


@claimed(
    "variables are found",
    'documentation of free_vars: "Free variables are variables that are not bound by a VarBinding or a function '
    'parameter in the expression"; of bound_vars: "all variables that are declared in the expr"',
)
@asking
def variables_missed(ran: Any) -> Iterator[Question]:
    """Ask for the variables that a function, or a value in it, binds or reads."""
    for name, function in relax_functions(ran.before):
        said, known = f"lists variables of {name}, which is closed", {"function": function}
        yield Question("a closed function has free variables", said, f"{_OF}free_vars(function)", "not answer", known)
        known = {"function": function, "bound": [*function.params, *(place.var for place in places(function))]}
        for asked in ("bound_vars", "all_vars"):
            wrong, said = "a bound variable is not listed", f"omits variables that {name} binds"
            yield Question(wrong, said, f"{_OF}{asked}(function)", "{*bound} <= {*answer}", known)
        for place in places(function):
            wrong, said = "a free variable is not listed", f"omits variables of {_at(place, name)}"
            known = {"value": place.value, "read": [*variables_read(place.value)]}
            for asked in ("used_vars", "free_vars"):
                yield Question(wrong, said, f"{_OF}{asked}(value)", "{*read} <= {*answer}", known)


@claimed(
    "bindings are found by variable and by name",
    'documentation of get_var2val: "Get a mapping from Var to Expr for each variable in the function"; of '
    'name_to_binding: "Return a map from variable name to its bindings"',
)
@asking
def binding_missed(ran: Any) -> Iterator[Question]:
    """Ask get_var2val and name_to_binding for each binding."""
    for name, function in relax_functions(ran.before):
        for place in places(function):
            known = {"function": function, "binding": place.binding}
            wrong, said = "a binding is not found by its name", f"omits the binding of {_at(place, name)}"
            right = "any(each.same_as(binding) for each in answer.get(binding.var.name, ()))"
            yield Question(wrong, said, f"{_OF}name_to_binding(function)", right, known)
            if isinstance(place.binding, relax.VarBinding):
                wrong, said = "a variable has another value", f"gives another value of {_at(place, name)}"
                right = "binding.var in answer and answer[binding.var].same_as(binding.value)"
                yield Question(wrong, said, f"{_OF}get_var2val(function)", right, known)


@claimed("uses are found", 'documentation of udchain: "Analyze the variable use-def chain in a dataflow block"')
@asking
def use_missed(ran: Any) -> Iterator[Question]:
    """Ask for the users of the variables that a binding of a dataflow block reads: it is one."""
    for name, place in placed(ran.before):
        for read in variables_read(place.value) if place.dataflow else ():
            user = "a match_cast" if isinstance(place.binding, relax.MatchCast) else place.var.name
            said, known = f"omits the use of {read.name} in {user} of {name}", {"block": place.block, "read": read}
            right = "var in answer.get(read, ())"
            yield Question("a use is not listed", said, f"{_OF}udchain(block)", right, {**known, "var": place.var})


@claimed("shapes are told", 'documentation of get_shape_of: "It will try to return symbolic function when possible"')
@asking
def shape_missed(ran: Any) -> Iterator[Question]:
    """Ask for the shape of each tensor: it is that of its type, or a question for it at run time."""
    for name, place in placed(ran.before):
        if isinstance(place.var.ty, relax.TensorType):
            wrong, said = "another shape is told", f"gives {{answer}} as the shape of {_at(place, name)}"
            right = "tvm_ffi.structural_equal(answer, var.ty.shape)"
            if place.var.ty.shape is None:
                right = 'isinstance(answer, relax.Call) and answer.op.name == "relax.shape_of"'
            yield Question(wrong, said, "relax.get_shape_of(var)", right, {"var": place.var})


@claimed(
    "types form a lattice",
    'documentation of type_lca: "Unify the two types to their least common ancestor"; of erase_to_well_defined: '
    '"removes the Type\'s dependencies on shape and vars that are not defined in given maps"',
)
@asking
def type_misjudged(ran: Any) -> Iterator[Question]:
    """Ask for the static, erased and common types of some types, and which of these are bases."""
    dims = f"{_OF}tir_vars_in_type(ty)"
    for name, function in relax_functions(ran.before):
        shapes = [var for var in relax.analysis.all_vars(function) if isinstance(var.ty, relax.ShapeType)]
        for ty in (types := _types(function)):
            known = {"ty": ty}
            wrong, said = "a type itself is no base", f"says that {{ty}} in {name} is no base of itself"
            yield Question(wrong, said, "relax.Type.is_base_of(ty, ty)", "answer", known)
            for kind, asked in (("static", "get_static_type"), ("erased", "erase_to_well_defined")):
                wrong, said = f"a {kind} type is no base", f"gives {{answer}} as the {kind} type of {{ty}} in {name}"
                yield Question(wrong, said, f"{_OF}{asked}(ty)", "answer.is_base_of(ty)", known)
            wrong, said = "a definable dim is none of its type", f"lists dims that {{ty}} in {name} does not have"
            right = f"{{*answer}} <= {{*{dims}}}"
            yield Question(wrong, said, f"{_OF}definable_tir_vars_in_type(ty)", right, known)
            if "R.Callable" not in str(ty):
                wrong, said = "a type with all dims is another one", f"gives {{answer}} for {{ty}} in {name}"
                maps = f"{{dim: dim for dim in {dims}}}, {{var: var for var in shapes}}"
                right, more = "tvm_ffi.structural_equal(answer, ty)", {**known, "shapes": shapes}
                yield Question(wrong, said, f"{_OF}erase_to_well_defined(ty, {maps})", right, more)
                wrong, said = "a dim with a value is left", f"leaves dims in {{answer}}, made of {{ty}} in {name}"
                maps, right = f"{{dim: 4 for dim in {dims}}}", f"not {_OF}tir_vars_in_type(answer)"
                yield Question(wrong, said, f"{_OF}erase_to_well_defined(ty, {maps})", right, known)
        for one, other in itertools.product([*types, relax.FuncType.opaque_func()], types):
            known = {"one": one, "other": other}
            wrong, said = "a common ancestor is no base", f"gives {{answer}} for {{one}} and {{other}} in {name}"
            right = "answer.is_base_of(one) and answer.is_base_of(other)"
            yield Question(wrong, said, f"{_OF}type_lca(one, other)", right, known)
            wrong, said = "two checks of types disagree", f"and is_base_of differ on {{one}} and {{other}} in {name}"
            right = f"(answer == {_OF}BaseCheckResult.PASS) == one.is_base_of(other)"
            yield Question(wrong, said, f"{_OF}type_base_check(one, other)", right, known)


def _types(function: Any) -> list[Any]:
    """List some types of a function, each once, and of functions and tuples of these, and types that say little."""
    variables = (*function.params, *(place.var for place in places(function)))
    found = list({str(ty): ty for ty in (function.ty, *(each.ty for each in variables))}.values())[:_MOST_TYPES]
    whole = relax.TupleType(found[:2])
    vague = [relax.TensorType(), relax.TensorType(ndim=2), relax.ShapeType(ndim=1), relax.AnyType()]
    vague += [tvm.ir.PrimType("int64"), tvm.ir.PrimType("float32")]
    return [*found, whole, relax.FuncType(found[1:2], whole), *vague]


_APART = """\
builder = relax.BlockBuilder()
builder.begin_scope([])
builder._begin_binding_block()
apart = [call.args[0], builder.emit(call.args[1]), *call.args[2:]]
builder._end_block()
builder.end_scope()"""


@claimed(
    "operands of kernels are written in place",
    "src/relax/op/op.cc, NormalizeCallTIR: the arguments of call_tir become a tuple that is written in place",
)
@asking
def operands_left_apart(ran: Any) -> Iterator[Question]:
    """Normalize each call of a kernel whose operands are a variable bound to their tuple: that changes it back."""
    for name, place in placed(ran.before):
        if isinstance(place.value, relax.Call) and place.value.op == tvm.ir.Op.get("relax.call_tir"):
            wrong, said = "operands of a kernel are left apart", f"makes {{answer}} of {{call}} in {name}"
            asks = "relax.BlockBuilder.normalize(builder, relax.Call(call.op, apart, call.attrs, call.ty_args))"
            right = "tvm_ffi.structural_equal(answer, call, map_free_vars=True)"
            yield Question(wrong, said, asks, right, {"call": place.value}, _APART)


@claimed(
    "the result of a call is of the type that its function's type says",
    'documentation of derive_call_ret_type: "Derive the call\'s ret value type from inputs"',
)
@asking
def result_misjudged(ran: Any) -> Iterator[Question]:
    """Ask for the type of each call of a function: it is a base of the call's own one."""
    for name, place in placed(ran.before):
        called = getattr(place.value, "op", None)
        if isinstance(called, relax.Var | tvm.ir.GlobalVar) and isinstance(called.ty, relax.FuncType):
            said = f"derives {{answer}} for {{call}} in {name}"
            asks = f"{_OF}derive_call_ret_type(call.op.ty, call, relax.BlockBuilder())"
            right, known = "answer.is_base_of(call.ty)", {"call": place.value}
            yield Question("another result type is derived", said, asks, right, known)


@claimed(
    "a pure function has no impure call",
    'documentation of contains_impure_call: "Check if the given expression (likely a function body) contains any '
    'impure calls"',
)
@asking
def purity_misjudged(ran: Any) -> Iterator[Question]:
    """Ask for impure calls in pure functions."""
    for name, function in relax_functions(ran.before):
        if function.is_pure and "relax.force_pure" not in (function.attrs or ()):
            asks, said = f"{_OF}contains_impure_call(function)", f"finds an impure call in {name}"
            yield Question("a pure function is told impure", said, asks, "not answer", {"function": function})


@claimed(
    "recursion is found",
    'documentation of detect_recursion: "Find all sets of recursive or mutually recursive functions in the module"',
)
@asking
def recursion_missed(ran: Any) -> Iterator[Question]:
    """Ask for the groups of functions that reach one another by references.

    Asks it of the module, and of functions that refer to one another as the bits of the module's hash say.
    """
    for module in (ran.before, _referring(tvm_ffi.structural_hash(ran.before))):
        names = {
            name: {each.name_hint for each in relax.analysis.all_global_vars(function)}
            for name, function in relax_functions(module)
        }
        reached = {name: closed(called, lambda each: names.get(each, ())) for name, called in names.items()}  # noqa: B023  # it is called at once
        groups = {frozenset(each for each in reached[name] if name in reached.get(each, ())) for name in names}
        wanted = sorted(map(sorted, groups - {frozenset()}))
        wrong, said = "other functions are found to be recursive", "finds {answer} instead of {wanted}"
        right = "sorted(sorted(each.name_hint for each in group) for group in answer) == wanted"
        known = {"module": module, "wanted": wanted}
        yield Question(wrong, said, f"{_OF}detect_recursion(module)", right, known)


def _referring(bits: int) -> Any:
    """Return a module of functions each of which gives a tuple of some of them."""
    names = [tvm.ir.GlobalVar(f"f{number}") for number in range(5)]
    functions = {}
    for at, name in enumerate(names):
        named = relax.Tuple([each for to, each in enumerate(names) if bits >> (at * 5 + to) & 1])
        functions[name] = relax.Function([], relax.SeqExpr([], named), relax.AnyType())
    return tvm.IRModule(functions)


@claimed(
    "a pattern of an expression matches it, and one of another does not",
    "documentation of tvm.relax.dpl.pattern: is_var, is_gv, is_shape, has_attr, is_call_tir, ExternFuncPattern",
)
@asking
def pattern_mismatched(ran: Any) -> Iterator[Question]:
    """Ask each expression whether the pattern that describes it matches, and one that describes something else."""
    for name, function in relax_functions(ran.before):
        for each in (function, *expressions(function.body)):
            for pattern, other in _patterns(each):
                wrong, said = "a pattern does not match what it describes", f"does not match {{expr}} in {name}"
                yield Question(wrong, said, f"relax.dpl.pattern.{pattern}.match(expr)", "answer", {"expr": each})
                wrong, said = "a pattern matches what it does not describe", f"matches {{expr}} in {name}"
                yield Question(wrong, said, f"relax.dpl.pattern.{other}.match(expr)", "not answer", {"expr": each})


_NAMED = ((relax.Var, "is_var", "name"), (tvm.ir.GlobalVar, "is_gv", "name_hint"),
          (relax.ExternFunc, "ExternFuncPattern", "global_symbol"))  # fmt: skip
_ANY = "relax.dpl.pattern.wildcard()"
_HAS = '.has_attr({"no_such": "attribute"})'
_GIVEN = ".has_attr({key: expr.attrs[key] for key in [*expr.attrs.keys()] if expr.attrs[key] is not None})"


def _patterns(expr: Any) -> Iterator[tuple[str, str]]:
    """Write patterns that describe an expression, each with one that does not."""
    for kind, pattern, field in _NAMED:
        if isinstance(expr, kind):
            yield f"{pattern}({getattr(expr, field)!r})", f"{pattern}({getattr(expr, field) + '_'!r})"
    if isinstance(expr, relax.ShapeExpr):
        yield "is_shape([*expr.values])", "is_shape([*expr.values, 7])"
    elif isinstance(expr, relax.Function):
        made = f"FunctionPattern([{_ANY} for _ in expr.params], {_ANY})"
        yield f"{made}.has_attr(dict(expr.attrs or {{}}))", f"{made}{_HAS}"
    elif isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
        called = f"is_op({expr.op.name!r})(*({_ANY} for _ in expr.args))"
        if expr.attrs is not None and hasattr(expr.attrs, "keys"):
            yield f"{called}{_GIVEN}", f"{called}{_HAS}"
        if expr.op.name == "relax.call_tir" and isinstance(expr.args[1], relax.Tuple):
            kernel, operands = f"is_call_tir({expr.args[0].name_hint!r}, ", f"[{_ANY} for _ in expr.args[1].fields]"
            yield f"{kernel}{operands})", f"{kernel}[{_ANY}, *{operands}])"


_PARTS = """\
x, made, inner = (relax.Var(name, relax.TensorType([2], "float32")) for name in ("x", "made", "inner"))
flag, flows = relax.Var("flag", relax.TensorType([], "bool")), relax.DataflowVar("flows", x.ty)
call = relax.op.negative(x)
part = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(inner, call)])], inner)
"""
_WRONG = """
block = relax.BindingBlock([relax.VarBinding(*each) for each in bindings])
body = relax.SeqExpr([*function.body.blocks, block], made)
params = [*function.params, x, flag]
wrong = tvm.IRModule({"main": relax.Function(params, body, relax.AnyType(), function.is_pure)})"""
_ILL_FORMED = {
    "a call in a call": "[(made, relax.op.negative(call))]",
    "a call in a tuple": "[(made, relax.Tuple([x, call]))]",
    "a sequence bound to a variable": "[(made, part)]",
    "a variable that nothing binds": "[(made, inner)]",
    "a variable of a branch behind it": '[(made, relax.If(flag, part, part)), (relax.Var("last", x.ty), inner)]',
    "a variable that is bound twice": "[(made, call), (made, call)]",
    "a function that the module lacks": '[(made, relax.Call(tvm.ir.GlobalVar("lacking"), [x]))]',
    "a dataflow variable outside of dataflow": "[(flows, call), (made, call)]",
}
"""What is not well formed: bindings behind those of a function."""


@claimed(
    "what is not well formed is told",
    "tvm/relax/analysis/analysis.py and src/relax/analysis/well_formed.cc: the rules that check_well_formed lists",
)
@asking
def ill_formed_accepted(ran: Any) -> Iterator[Question]:
    """Ask for the form of code that breaks a rule behind the blocks of a function."""
    made = {what: f"{_PARTS}bindings = {bindings}{_WRONG}" for what, bindings in _ILL_FORMED.items()}
    shared = f'{_PARTS}wrong = tvm.IRModule({{name: relax.Function([x], x, x.ty) for name in ("f", "g")}})'
    for name, function in relax_functions(ran.before):
        for what, first in {**made, "a parameter of two functions": shared}.items():
            asks, said = f"{_OF}check_well_formed(wrong, check_ty=False)", f"takes {what} behind {name} for well formed"
            yield Question(f"{what} is taken for well formed", said, asks, "not answer", {"function": function}, first)


@claimed("parts that make no type are refused", 'src/relax/ir/dependent_type.cc: "Cannot both specify ..."')
@asking
def wrong_parts_taken(ran: Any) -> Iterator[Question]:
    """Make types of what makes none."""
    for made in ("relax.ShapeType(1)", "relax.ShapeType([1, 2], ndim=3)", "relax.TensorType([1, 2], ndim=3)"):
        yield Question("a type is made of wrong parts", "makes {answer}", made, "")
