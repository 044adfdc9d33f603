"""What ``tvm.relax.analysis`` and ``tvm.relax.dpl`` tell of a module: variables, uses, types, recursion, patterns."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import closed, relax_functions
from relaxkit.ir.walk import Place, expressions, places
from relaxkit.passes.claims.common import placed, variables_read
from relaxkit.passes.contract import claimed

_MOST_TYPES = 8


def _at(place: Place, name: str) -> str:
    """Say what is bound, and where: ``lv inside an If of main``."""
    around = "inside a local function of" if place.local else "inside an If of" if place.branches else "in"
    return f"{place.var.name} {around} {name}"


@claimed(
    "variables are found",
    'documentation of free_vars: "Free variables are variables that are not bound by a VarBinding or a function '
    'parameter in the expression"; of bound_vars: "all variables that are declared in the expr"',
)
def variables_missed(ran: Any) -> str:
    """Find a variable that a function, or a value in it, binds or reads, and that its analysis does not list."""
    for name, function in relax_functions(ran.before):
        if relax.analysis.free_vars(function):
            said = f"relax.analysis.free_vars lists variables of {name}, which is closed"
            return f"a closed function has free variables\n{said}"
        bound = {*function.params, *(place.var for place in places(function))}
        listed = {*relax.analysis.bound_vars(function)}
        if not bound <= listed <= {*relax.analysis.all_vars(function)}:
            omitting = "all_vars" if bound <= listed else "bound_vars"
            return f"a bound variable is not listed\nrelax.analysis.{omitting} omits variables that {name} binds"
        for place in places(function):
            read = {*variables_read(place.value)}
            used = {*relax.analysis.used_vars(place.value)}
            if not read <= used & {*relax.analysis.free_vars(place.value)}:
                omitting = "free_vars" if read <= used else "used_vars"
                return f"a free variable is not listed\nrelax.analysis.{omitting} omits variables of {_at(place, name)}"
    return ""


@claimed(
    "bindings are found by variable and by name",
    'documentation of get_var2val: "Get a mapping from Var to Expr for each variable in the function"; of '
    'name_to_binding: "Return a map from variable name to its bindings"',
    shown='named = relax.analysis.name_to_binding(After["{name}"])\n'
    'bound = relax.analysis.get_var2val(After["{name}"])\n'
    "assert sum(map(len, named.values())) >= len(bound)",
)
def binding_missed(ran: Any) -> str:
    """Find a binding that get_var2val or name_to_binding does not have."""
    for name, function in relax_functions(ran.before):
        values, named = relax.analysis.get_var2val(function), relax.analysis.name_to_binding(function)
        for place in places(function):
            listed = named.get(place.var.name, ())
            if not any(each.same_as(place.binding) for each in listed):
                said = f"relax.analysis.name_to_binding omits the binding of {_at(place, name)}"
                return f"a binding is not found by its name\n{said}"
            if isinstance(place.binding, relax.VarBinding) and not values[place.var].same_as(place.value):
                said = f"relax.analysis.get_var2val gives another value of {_at(place, name)}"
                return f"a variable has another value\n{said}"
    return ""


@claimed(
    "uses are found",
    'documentation of udchain: "Analyze the variable use-def chain in a dataflow block"',
    shown='assert all(b.var in relax.analysis.udchain(k).get(b.value, ()) for k in After["{name}"].body.blocks '
    "if isinstance(k, relax.DataflowBlock) for b in k.bindings if isinstance(b, relax.MatchCast))",
)
def use_missed(ran: Any) -> str:
    """Find a binding of a dataflow block that reads a variable, and that is not among the variable's users."""
    for name, place in placed(ran.before):
        if place.dataflow and place.binding.same_as(place.block.bindings[0]):
            users = relax.analysis.udchain(place.block)
            for binding in place.block.bindings:
                for read in (each for each in variables_read(binding.value) if binding.var not in users.get(each, ())):
                    user = "a match_cast" if isinstance(binding, relax.MatchCast) else binding.var.name
                    return (
                        f"a use is not listed\nrelax.analysis.udchain omits the use of {read.name} in {user} of {name}"
                    )
    return ""


@claimed(
    "shapes are told",
    'documentation of get_shape_of: "It will try to return symbolic function when possible"',
)
def shape_missed(ran: Any) -> str:
    """Find a tensor of which get_shape_of gives another shape than its type, and no question for it at run time."""
    for name, place in placed(ran.before):
        if isinstance(ty := place.var.ty, relax.TensorType):
            shape = relax.get_shape_of(place.var)
            asked = isinstance(shape, relax.Call) and shape.op.name == "relax.shape_of"
            if not (asked if ty.shape is None else tvm_ffi.structural_equal(shape, ty.shape)):
                return f"another shape is told\nrelax.get_shape_of gives {shape} as the shape of {_at(place, name)}"
    return ""


@claimed(
    "types form a lattice",
    'documentation of type_lca: "Unify the two types to their least common ancestor"; of erase_to_well_defined: '
    '"removes the Type\'s dependencies on shape and vars that are not defined in given maps"',
)
def type_misjudged(ran: Any) -> str:
    """Find types that are no base of themselves, or whose common ancestor, static or erased type is none."""
    for name, function in relax_functions(ran.before):
        shapes = {var: var for var in relax.analysis.all_vars(function) if isinstance(var.ty, relax.ShapeType)}
        for ty in (types := _types(function)):
            static, erased = relax.analysis.get_static_type(ty), relax.analysis.erase_to_well_defined(ty)
            for base, kind in ((ty, "type itself"), (static, "static type"), (erased, "erased type")):
                if not _is_base(base, ty):
                    return f"a {kind} is no base\ngives {base} as the {kind} of {ty} in {name}"
            if not {*relax.analysis.definable_tir_vars_in_type(ty)} <= {*relax.analysis.tir_vars_in_type(ty)}:
                said = f"relax.analysis.definable_tir_vars_in_type lists dims that {ty} in {name} does not have"
                return f"a definable dim is none of its type\n{said}"
            known = dict.fromkeys(relax.analysis.tir_vars_in_type(ty), 4)
            same = relax.analysis.erase_to_well_defined(ty, {dim: dim for dim in known}, shapes)
            if "R.Callable" not in str(ty) and not tvm_ffi.structural_equal(same, ty):
                said = f"relax.analysis.erase_to_well_defined gives {same} for {ty} in {name}"
                return f"a type with all dims is another one\n{said}"
            numbers = relax.analysis.erase_to_well_defined(ty, known)
            if "R.Callable" not in str(ty) and relax.analysis.tir_vars_in_type(numbers):
                said = f"relax.analysis.erase_to_well_defined leaves dims in {numbers}, made of {ty} in {name}"
                return f"a dim with a value is left\n{said}"
        for one, other in itertools.product([*types, relax.FuncType.opaque_func()], types):
            ancestor = relax.analysis.type_lca(one, other)
            if not (ancestor.is_base_of(one) and ancestor.is_base_of(other)):
                said = f"relax.analysis.type_lca gives {ancestor} for {one} and {other} in {name}"
                return f"a common ancestor is no base\n{said}"
            passes = relax.analysis.type_base_check(one, other) == relax.analysis.BaseCheckResult.PASS
            if passes != one.is_base_of(other):
                said = f"relax.analysis.type_base_check and is_base_of differ on {one} and {other} in {name}"
                return f"two checks of types disagree\n{said}"
    return ""


def _types(function: Any) -> list[Any]:
    """List some types of a function, each once, and of functions and tuples of these, and types that say little."""
    variables = (*function.params, *(place.var for place in places(function)))
    found = list({str(ty): ty for ty in (function.ty, *(each.ty for each in variables))}.values())[:_MOST_TYPES]
    whole = relax.TupleType(found[:2])
    vague = [relax.TensorType(), relax.TensorType(ndim=2), relax.ShapeType(ndim=1), relax.AnyType()]
    vague += [tvm.ir.PrimType("int64"), tvm.ir.PrimType("float32")]
    return [*found, whole, relax.FuncType(found[1:2], whole), *vague]


def _is_base(base: Any, ty: Any) -> bool:
    try:
        return bool(base.is_base_of(ty))
    except tvm.error.InternalError:  # a type that the functions of types do not know
        return False


@claimed(
    "operands of kernels are written in place",
    "src/relax/op/op.cc, NormalizeCallTIR: the arguments of call_tir become a tuple that is written in place",
)
def operands_left_apart(ran: Any) -> str:
    """Find the call of a kernel that normalization changes when its operands are a variable bound to their tuple."""
    for name, place in placed(ran.before):
        value = place.value
        if isinstance(value, relax.Call) and value.op == tvm.ir.Op.get("relax.call_tir"):
            builder = relax.BlockBuilder()
            builder.begin_scope([])
            builder._begin_binding_block()
            operands = builder.emit(value.args[1])
            call = relax.Call(value.op, [value.args[0], operands, *value.args[2:]], value.attrs, value.ty_args)
            made = builder.normalize(call)
            builder._end_block()
            builder.end_scope()
            if not tvm_ffi.structural_equal(made, value, map_free_vars=True):
                return f"operands of a kernel are left apart\nmakes {made} of {value} in {name}"
    return ""


@claimed(
    "the result of a call is of the type that its function's type says",
    'documentation of derive_call_ret_type: "Derive the call\'s ret value type from inputs"',
)
def result_misjudged(ran: Any) -> str:
    """Find a call of a function for which another type is derived than the call's own one."""
    for name, place in placed(ran.before):
        value = place.value
        if isinstance(value, relax.Call) and isinstance(value.op, relax.Var | tvm.ir.GlobalVar):
            derived = relax.analysis.derive_call_ret_type(value.op.ty, value, relax.BlockBuilder())
            if isinstance(value.op.ty, relax.FuncType) and not derived.is_base_of(value.ty):
                said = f"relax.analysis.derive_call_ret_type derives {derived} for a call of {value.ty} in {name}"
                return f"another result type is derived\n{said}"
    return ""


@claimed(
    "a pure function has no impure call",
    'documentation of contains_impure_call: "Check if the given expression (likely a function body) contains any '
    'impure calls"',
)
def purity_misjudged(ran: Any) -> str:
    """Find a function that is pure, and in which an impure call is found."""
    for name, function in relax_functions(ran.before):
        forced = "relax.force_pure" in (function.attrs or ())
        if function.is_pure and not forced and relax.analysis.contains_impure_call(function):
            return f"a pure function is told impure\nrelax.analysis.contains_impure_call finds an impure call in {name}"
    return ""


@claimed(
    "recursion is found",
    'documentation of detect_recursion: "Find all sets of recursive or mutually recursive functions in the module"',
)
def recursion_missed(ran: Any) -> str:
    """Compare the functions of each found group with those that reach one another by references.

    Asks it of the module, and of functions that refer to one another as the bits of the module's hash say.
    """
    return _recursion_missed(ran.before) or _recursion_missed(_referring(tvm_ffi.structural_hash(ran.before)))


def _referring(bits: int) -> Any:
    """Return a module of functions each of which gives a tuple of some of them."""
    names = [tvm.ir.GlobalVar(f"f{number}") for number in range(5)]
    functions = {}
    for at, name in enumerate(names):
        named = relax.Tuple([each for to, each in enumerate(names) if bits >> (at * 5 + to) & 1])
        functions[name] = relax.Function([], relax.SeqExpr([], named), relax.AnyType())
    return tvm.IRModule(functions)


def _recursion_missed(module: Any) -> str:
    names = {
        name: {each.name_hint for each in relax.analysis.all_global_vars(function)}
        for name, function in relax_functions(module)
    }
    reached = {name: closed(called, lambda each: names.get(each, ())) for name, called in names.items()}
    wanted = {
        frozenset(each for each in reached[name] if name in reached.get(each, ()))
        for name in names
        if name in reached[name]
    }
    found = {frozenset(each.name_hint for each in group) for group in relax.analysis.detect_recursion(module)}
    if found != wanted:
        said = f"relax.analysis.detect_recursion finds {_said(found)} instead of {_said(wanted)}"
        return f"other functions are found to be recursive\n{said}"
    return ""


def _said(groups: set[frozenset[str]]) -> list[list[str]]:
    return sorted(map(sorted, groups))


@claimed(
    "a pattern of an expression matches it, and one of another does not",
    "documentation of tvm.relax.dpl.pattern: is_var, is_gv, is_shape, has_attr, is_call_tir, ExternFuncPattern",
)
def pattern_mismatched(ran: Any) -> str:
    """Find an expression that the pattern that describes it does not match, or one that describes something else."""
    for name, function in relax_functions(ran.before):
        for each in (function, *expressions(function.body)):
            for pattern, other in _patterns(each):
                if not pattern.match(each):
                    return f"a pattern does not match what it describes\ndoes not match {each} in {name} with {pattern}"
                if other is not None and other.match(each):
                    return f"a pattern matches what it does not describe\nmatches {each} in {name} with {other}"
    return ""


def _patterns(expr: Any) -> Iterator[tuple[Any, Any]]:
    """Yield patterns that describe an expression, each with one that does not, or ``None``."""
    dpl = relax.dpl.pattern
    if isinstance(expr, relax.Var):
        yield dpl.is_var(expr.name), dpl.is_var(f"{expr.name}_")
    elif isinstance(expr, tvm.ir.GlobalVar):
        yield dpl.is_gv(expr.name_hint), dpl.is_gv(f"{expr.name_hint}_")
    elif isinstance(expr, relax.ExternFunc):
        yield dpl.ExternFuncPattern(expr.global_symbol), dpl.ExternFuncPattern(f"{expr.global_symbol}_")
    elif isinstance(expr, relax.ShapeExpr):
        yield dpl.is_shape(list(expr.values)), dpl.is_shape([*expr.values, 7])
    elif isinstance(expr, relax.Function):
        made = dpl.FunctionPattern([dpl.wildcard() for _ in expr.params], dpl.wildcard())
        yield made.has_attr(dict(expr.attrs or {})), made.has_attr({"no_such": "attribute"})
    elif isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
        called = dpl.is_op(expr.op.name)(*(dpl.wildcard() for _ in expr.args))
        if expr.attrs is not None and hasattr(expr.attrs, "keys"):
            given = {key: expr.attrs[key] for key in [*expr.attrs.keys()]}
            known = called.has_attr({key: value for key, value in given.items() if value is not None})
            yield known, called.has_attr({"no_such": "attribute"})
        if expr.op.name == "relax.call_tir" and isinstance(expr.args[1], relax.Tuple):
            kernel, operands = expr.args[0].name_hint, [dpl.wildcard() for _ in expr.args[1].fields]
            yield dpl.is_call_tir(kernel, operands), dpl.is_call_tir(kernel, [*operands, dpl.wildcard()])


@claimed(
    "what is not well formed is told",
    "tvm/relax/analysis/analysis.py and src/relax/analysis/well_formed.cc: the rules that check_well_formed lists",
)
def ill_formed_accepted(ran: Any) -> str:
    """Find code that breaks a rule and that is taken for well formed behind the blocks of a function."""
    for name, function in relax_functions(ran.before):
        for what, module in _ill_formed(function):
            if relax.analysis.check_well_formed(module, check_ty=False):
                return f"{what} is taken for well formed\ntakes {what} behind {name} for well formed"
    return ""


def _ill_formed(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is not well formed, each with a module of a function that has it."""
    x, made, inner = (relax.Var(name, relax.TensorType([2], "float32")) for name in ("x", "made", "inner"))
    call = relax.op.negative(x)
    part = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(inner, call)])], inner)
    branched = relax.If(relax.Var("flag", relax.TensorType([], "bool")), part, part)
    rows = {
        "a call in a call": [(made, relax.op.negative(call))],
        "a call in a tuple": [(made, relax.Tuple([x, call]))],
        "a sequence bound to a variable": [(made, part)],
        "a variable that nothing binds": [(made, inner)],
        "a variable of a branch behind it": [(made, branched), (relax.Var("last", x.ty), inner)],
        "a variable that is bound twice": [(made, call), (made, call)],
        "a function that the module lacks": [(made, relax.Call(tvm.ir.GlobalVar("lacking"), [x]))],
        "a dataflow variable outside of dataflow": [(relax.DataflowVar("flows", x.ty), call), (made, call)],
    }
    for what, bindings in rows.items():
        block = relax.BindingBlock([relax.VarBinding(*each) for each in bindings])
        params = [*function.params, x, *([branched.cond] if "branch" in what else [])]
        body = relax.SeqExpr([*function.body.blocks, block], made)
        yield what, tvm.IRModule({"main": relax.Function(params, body, relax.AnyType(), function.is_pure)})
    yield "a parameter of two functions", tvm.IRModule({name: relax.Function([x], x, x.ty) for name in ("f", "g")})


_WRONG_PARTS: tuple[Callable[[], Any], ...] = (
    lambda: relax.ShapeType(1),
    lambda: relax.ShapeType([1, 2], ndim=3),
    lambda: relax.TensorType([1, 2], ndim=3),
)


@claimed("parts that make no type are refused", 'src/relax/ir/dependent_type.cc: "Cannot both specify ..."')
def wrong_parts_taken(ran: Any) -> str:
    """Find a type that is made of what makes none."""
    for make in _WRONG_PARTS:
        with contextlib.suppress(TypeError, ValueError):
            return f"a type is made of wrong parts\nmakes {make()}"
    return ""
