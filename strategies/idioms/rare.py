"""Rare idioms: what a single pass, or a single operator of one, looks for, and hardly any other module has.

No module holds one unless it is asked for (``planting.RARE``), so that a new one leaves all other modules as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax, te, tirx

from strategies.constructs import composites, shapes
from strategies.idioms import distributed
from strategies.idioms.idiom import BlockKind, IdiomTable
from strategies.idioms.parts import UNIT, added, floats, fresh, joined, product, relu, tensor, variable, width
from strategies.idioms.stages import UNMERGEABLE
from strategies.kernels import choose as kernels
from strategies.kernels import in_place
from strategies.kernels.builder import KernelBuilder
from strategies.kernels.drawn import known
from strategies.kernels.stages import combine
from strategies.kernels.table import KERNELS
from strategies.scope.bounds import Bounds
from strategies.scope.emitter import add_function, block_function
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

op = relax.op

TABLE = IdiomTable()


def _symbol(scope: Scope) -> Any:
    """Draw a symbolic dim; raises ``Infeasible`` when there is none and no room for a parameter that defines one."""
    if not scope.frame.symbol_list and not scope.can_add_parameter():
        raise Infeasible("no room for a parameter that defines a dim")
    return scope.pick(tuple(scope.frame.symbol_list or shapes.symbol_parameter(scope).shape[:1]))


@TABLE.idiom("CombineParallelMatmul", needs=(Feature.SYMBOLIC_SHAPES,))
def uneven_matmuls(scope: Scope) -> Value:
    """Plant products of one left side with weights of symbolic width, or with batches of weights."""
    batch = [2] if scope.flip() else []
    left = tensor(scope, [*batch, 2, 3])
    widths: list[Dim] = [2, 3, 2, 1][: 2 + scope.index(3)]
    if not batch or scope.flip():
        symbol = _symbol(scope)
        widths[scope.index(len(widths))] = symbol
    activation = scope.pick((None, None, op.nn.relu, op.nn.gelu, op.nn.silu, op.nn.gelu_tanh))
    biased = scope.index(3) == 2
    made = []
    for each in widths:
        out = product(scope, left, variable(scope, fresh(scope, [*batch, 3, each], "float32")))
        if biased:
            out = added(scope, out, variable(scope, fresh(scope, [each], "float32")))
        made.append(out if activation is None else scope.emit(activation(out.expr), Bounds(-8.0, 8.0)))
    return joined(scope, made)


@TABLE.idiom(
    "Gradient", weight=2, needs=(Feature.MULTIPLE_FUNCTIONS, Feature.TUPLES, Feature.NESTED_TUPLES, Feature.ALIASES)
)
def tuple_loss(scope: Scope) -> Value:
    """Plant a loss of tuples, of their other names, of products of turned matrices, and of checkpoints."""
    if scope.forbids(Feature.DUPLICATE_CODE) or scope.forbids(Feature.DEAD_CODE):
        raise Infeasible("a loss may hold either")
    scope.module.take_room()
    side = 2 + scope.index(2)
    ty = relax.TensorType([side, side], "float32")
    pair = relax.TupleType([relax.TupleType([ty, ty]), ty])
    parameters = [relax.Var(name, pair if name == "p" else ty) for name in "xyp"]
    add_function(scope, "loss", parameters, lambda emit: _loss(scope, parameters, emit))
    return scope.tensor()


def _loss(scope: Scope, parameters: Sequence[Any], emit: Callable[..., Any]) -> Any:
    """Bind a loss of two matrices and a nested tuple of them."""
    x, y, whole = parameters
    inner = emit(relax.TupleGetItem(whole, 0))
    known = [x, y, emit(relax.TupleGetItem(whole, 1)), emit(relax.TupleGetItem(inner, 1))]

    def pick() -> Any:
        return known[-1 - scope.index(min(4, len(known)))]

    for _ in range(2 + scope.index(5)):
        scope.renew()
        way = scope.index(6)
        if way == 0:
            known.append(emit(op.tanh(emit(op.multiply(pick(), pick())))))
        elif way == 1:
            left, right = (emit(op.permute_dims(each)) if scope.index(3) < 2 else each for each in (pick(), pick()))
            known.append(emit(op.tanh(emit(op.matmul(left, right)))))
        elif way in (2, 3):
            made = emit(relax.Tuple([relax.Tuple([pick(), pick()]), pick()]) if way == 3 else relax.Tuple([pick(), x]))
            made = emit(made) if scope.flip() else made
            if way == 3:
                known.append(emit(relax.TupleGetItem(made, 1)))
                made = emit(relax.TupleGetItem(made, 0))
            known.append(emit(op.add(emit(relax.TupleGetItem(made, 0)), emit(relax.TupleGetItem(made, 1)))))
        elif way == 4:
            halves = emit(op.split(emit(op.concat([pick(), pick()], 1)), 2, 1))
            known.append(emit(op.subtract(*(emit(relax.TupleGetItem(halves, at)) for at in range(2)))))
        else:
            begun = emit(op.grad.start_checkpoint(pick()))
            known.append(emit(op.grad.end_checkpoint(emit(op.sigmoid(emit(op.multiply(begun, begun)))))))
    loss = emit(op.sum(emit(op.tanh(emit(op.add(known[-1], known[-2]))))))
    return op.grad.end_checkpoint(loss) if scope.index(4) == 3 else loss


@TABLE.idiom(
    "RewriteCUDAGraph",
    "StaticPlanBlockMemory",
    needs=(Feature.SYMBOLIC_KERNELS, Feature.UPPER_BOUNDS, Feature.FUNCTION_ATTRS, Feature.WEIGHTS),
)
def captured_symbols(scope: Scope) -> Value:
    """Plant two calls of kernels of symbolic dims, in a function that says what is planned and captured of those."""
    made = kernels.draw_symbolic(scope)
    if scope.flip():
        made = kernels.draw_symbolic(scope)
    names = [symbol.name for symbol in scope.frame.symbol_list]
    if names and not scope.branches and not scope.frame.called:
        bounds = {"tir_var_upper_bound": dict.fromkeys(names, 8), "tir_var_lower_bound": dict.fromkeys(names[:1], 1)}
        scope.frame.attrs |= bounds if scope.flip() else {"tir_var_upper_bound": bounds["tir_var_upper_bound"]}
        if scope.flip():
            scope.frame.attrs["relax.rewrite_cuda_graph.capture_symbolic_vars"] = names
        if scope.flip():
            scope.frame.attrs |= {"relax.memory_plan_dynamic_func_output": 1, "tir_non_negative_var": names}
    return made


@TABLE.idiom("LambdaLift", needs=(Feature.LOCAL_FUNCTIONS, Feature.SYMBOLIC_SHAPES), place=BlockKind.ORDINARY)
def local_dims(scope: Scope) -> Value:
    """Plant calls of a local function whose dims are its own, those of a parameter or those that a cast finds."""
    value = floats(scope, ranks=(1, 2), static=True, bounds=UNIT)
    own = [tirx.Var(f"own{at}", "int64") for at in range(value.rank)]
    known = relax.TensorType(own, value.dtype)
    cast = scope.flip() and not scope.forbids(Feature.MATCH_CAST)
    given = relax.TensorType(dtype=value.dtype, ndim=value.rank) if cast else known
    parameter = relax.Var("a", given)

    def body(emit: Callable[..., Any]) -> Any:
        inside = scope.builder.match_cast(parameter, known) if cast else parameter
        ones = emit(op.ones(relax.ShapeExpr(own), value.dtype))
        return emit(op.subtract(inside, ones))

    local = scope.builder.emit(block_function(scope.builder, [parameter], body, dataflow=False), "measured")
    called = scope.builder.emit(relax.Call(local, [value.expr]), "called")
    return scope.emit(op.nn.relu(scope.builder.match_cast(called, value.ty)), Bounds(0.0, 1.0625))


@TABLE.idiom("FuseTIR", needs=(Feature.SYMBOLIC_KERNELS, Feature.PRIVATE_CALLS))
def fused_dims(scope: Scope) -> Value:
    """Plant a function for FuseTIR whose kernels have symbolic dims, called with static ones."""
    scope.frame.require_host()
    value = tensor(scope, [2 + scope.index(2), 3])
    symbolic = relax.TensorType(
        [tirx.Var("rows", "int64"), 3 if scope.flip() else tirx.Var("columns", "int64")], "float32"
    )
    one, both = (
        kernels.function_of(scope, kernel, [Value(None, symbolic)] * count)
        for count, name in ((1, "te_add_one"), (2, "te_add"))
        for kernel in KERNELS
        if kernel.name == name
    )
    parameter = relax.Var("a", value.ty)

    def body(emit: Callable[..., Any]) -> Any:
        raised = emit(relax.call_tir(one, [parameter], value.ty))
        added_ = emit(relax.call_tir(both, [raised, parameter], value.ty))
        return relax.Tuple([raised, added_]) if tupled else added_

    tupled = scope.flip() and scope.has(Feature.TUPLES)
    function = block_function(scope.builder, [parameter], body, {"Primitive": True})
    call = relax.Call(scope.builder.add_func(function, "fused_dims"), [value.expr])
    known = Bounds(-2.0625, 4.0625)
    if not tupled:
        return scope.emit(call, known)
    return scope.item(scope.emit(call, parts=[Value(None, value.ty, known)] * 2), scope.index(2))


@TABLE.idiom("MergeCompositeFunctions", needs=(Feature.COMPOSITE,), clears=UNMERGEABLE)
def composite_graph(scope: Scope) -> Value:
    """Plant composite functions that take each other's results on several ways, with other operators between."""
    values = [floats(scope, static=True, bounds=UNIT)]
    for _ in range(3 + scope.index(3)):
        made = composites.draw_composite(scope)
        values.append(relu(scope, made) if scope.index(4) == 3 else made)
    return joined(scope, values[-2:])


@TABLE.idiom("MergeCompositeFunctions", needs=(Feature.COMPOSITE,), clears=UNMERGEABLE)
def merged_producers(scope: Scope) -> Value:
    """Plant chains of composite functions that meet: of two values, or of one, seldom with another operator between."""
    first = tensor(scope, [2 + scope.index(2), 3], UNIT)
    ends = [first, first if scope.index(3) == 2 else fresh(scope, first.shape, "float32", UNIT)]
    for _ in range(1 + scope.index(2)):
        ends = [composites.call_composite(scope, scope.pick(composites.FOLLOWERS), [end]) for end in ends]
    if scope.index(4) == 3:
        ends[0] = relu(scope, ends[0])
    (add,) = (region for region in composites.REGIONS if region.name == "add")
    return composites.call_composite(scope, add, ends)


@TABLE.idiom("LambdaLift", needs=(Feature.LOCAL_FUNCTIONS, Feature.BOOLEANS), place=BlockKind.ORDINARY, weight=2)
def local_loop(scope: Scope) -> Value:
    """Plant a local function that calls itself as often as its counter says, and perhaps captures a value."""
    if scope.frame.nesting or scope.module.strict:
        raise Infeasible("no room for such a function")
    value = fresh(scope, [width(scope)], "float32", UNIT)
    beside = fresh(scope, value.shape, "float32", UNIT) if scope.has(Feature.CAPTURES) and scope.flip() else None
    ty = relax.TensorType(list(value.shape), "float32")
    count = relax.TensorType([], "int32")
    loop = relax.Var("loop", relax.FuncType([count, ty], ty, True))
    left, state = relax.Var("left", count), relax.Var("state", ty)

    def body(emit: Callable[..., Any]) -> Any:
        more = emit(op.greater(left, relax.const(0, "int32")))
        grown = op.tanh(op.add(state, state if beside is None else beside.expr))
        again = relax.Call(loop, [op.subtract(left, relax.const(1, "int32")), grown])
        return emit(relax.If(more, again, state))

    function = block_function(scope.builder, [left, state], body, dataflow=False)
    scope.builder.emit_normalized(relax.VarBinding(loop, function))
    return scope.emit(relax.Call(loop, [relax.const(scope.index(4), "int32"), value.expr]), UNIT)


@TABLE.idiom("FuseTIR", needs=(Feature.SYMBOLIC_KERNELS, Feature.PRIVATE_CALLS))
def fused_products(scope: Scope) -> Value:
    """Plant a function for FuseTIR that calls a kernel twice, of which one buffer has as many elements as a table."""
    scope.frame.require_host()
    rows, columns = 2 + scope.index(2), 3
    m, n = te.var("m", "int64"), te.var("n", "int64")
    table, left, right = (
        te.placeholder(shape, "float32", name=name) for shape, name in (((m * n,), "A"), ((m,), "B"), ((n,), "C"))
    )
    made = te.compute((m * n,), lambda at: table[at] + left[at // n] - right[at % n], name="D")
    kernel = te.create_prim_func([table, left, right, made], index_dtype_override="int64")
    var = scope.builder.add_func(kernel.without_attr("global_symbol").with_attr("tirx.noalias", True), "spread")
    operands = [tensor(scope, [size]) for size in (rows * columns, rows, columns)]
    parameters = [relax.Var(name, value.ty) for name, value in zip("abc", operands, strict=True)]

    def body(emit: Callable[..., Any]) -> Any:
        once = emit(relax.call_tir(var, parameters, parameters[0].ty))
        return emit(relax.call_tir(var, [once, *parameters[1:]], parameters[0].ty))

    function = block_function(scope.builder, parameters, body, {"Primitive": True})
    call = relax.Call(scope.builder.add_func(function, "fused_products"), [value.expr for value in operands])
    return scope.emit(call, Bounds(-10.0, 10.0))


@TABLE.idiom("LegalizeOps", needs=(Feature.NON_EXECUTABLE,))
def collectives(scope: Scope) -> Value:
    """Plant operators of several processes, one on the result of another."""
    value = tensor(scope, [8, 8])
    for _ in range(1 + scope.index(3)):
        calls = (
            lambda x: op.ccl.allgather(x, 2, scope.flip()),
            op.ccl.broadcast_from_worker0,
            lambda x: op.ccl.scatter_from_worker0(x, 2, scope.index(2)),
            lambda x: op.ccl.allreduce(x, scope.pick(("sum", "min", "avg")), scope.flip()),
        )
        value = scope.emit(scope.pick(calls)(value.expr), value.bounds)
    return value


@TABLE.idiom("FuseTIR", needs=(Feature.INPLACE_KERNELS, Feature.PRIVATE_CALLS))
def fused_in_place(scope: Scope) -> Value:
    """Plant a function for FuseTIR whose kernels write into its parameter, one after the other."""
    scope.frame.require_host()
    value = in_place.fresh(scope, tensor(scope, [2 + scope.index(2), 3]))
    parameter = relax.Var("a", relax.TensorType(list(value.shape), value.dtype))
    bounds = [value.known]

    def body(emit: Callable[..., Any]) -> Any:
        last = parameter
        for _ in range(2):
            kernel = KernelBuilder()
            source = kernel.operand(Value(last, value.ty, bounds[0]))
            bounds[0] = known(combine(scope, kernel, [source], True))
            var = scope.builder.add_func(kernel.finish({"tirx.noalias": True}), in_place.NAME)
            last = emit(op.call_tir_inplace(var, relax.Tuple([last]), [0], [parameter.ty]))
        return last

    function = block_function(scope.builder, [parameter], body, {"Primitive": True})
    return scope.emit(relax.Call(scope.builder.add_func(function, "fused_in_place"), [value.expr]), bounds[0])


@TABLE.idiom("Gradient", needs=(Feature.MULTIPLE_FUNCTIONS, Feature.NON_EXECUTABLE), weight=2)
def kernel_loss(scope: Scope) -> Value:
    """Plant a loss of a product by a kernel whose gradient is a function that the pass finds by its name."""
    scope.module.take_room()
    ty = relax.TensorType([2 + scope.index(2), 3], "float32")
    parameters = [relax.Var(name, ty) for name in "xy"]
    scaled = {"scale": 0.5} if scope.flip() else {}

    def body(emit: Callable[..., Any]) -> Any:
        made = scope.builder.call_te_with_grad(
            tvm.topi.multiply, *parameters, te_grad_name="product", te_grad_kwargs=scaled
        )
        return emit(op.sum(emit(op.tanh(emit(made)))))

    add_function(scope, "loss", parameters, body)
    return scope.tensor()


@TABLE.idiom(
    "LegalizeOps", also_for=("LowerRuntimeBuiltin", "CallTIRRewrite"), needs=(Feature.NON_EXECUTABLE,), weight=3
)
def seldom_called(scope: Scope) -> Value:
    """Plant views of tensors of which little is known, tuples of results, and operators in rare forms."""
    way = scope.index(4)
    value = tensor(scope, [4, 4])
    if way == 0:
        boxes, count, indices = (
            fresh(scope, dims, dtype, Bounds(0, 2, True))
            for dims, dtype in (((2, 5, 6), "float32"), ((2,), "int32"), ((2, 5), "int32"))
        )
        call = op.vision.non_max_suppression(
            boxes.expr, count.expr, indices.expr, return_indices=scope.flip(), soft_nms_sigma=0.5
        )
        made = scope.emit(call)
        return scope.item(made, 0) if made.is_tuple else made
    if way == 1:
        scale, zero = (fresh(scope, [4], dtype, Bounds(1.0, 2.0)) for dtype in ("float32", "float16"))
        packed = scope.emit(op.quantize(value.expr, scale.expr, zero.expr, scope.index(2), "float8_e4m3fn"))
        return scope.emit(op.dequantize(packed.expr, scale.expr, zero.expr, scope.index(2), "float32"))
    if way == 2:
        types = [relax.TensorType(*each) for each in (([2, 3], "float32"), ([4], "int32"), ([2, 2], "float16"))]
        return scope.item(scope.emit(op.call_dps_packed("outside", [value.expr], types)), 0)
    vague = (relax.TensorType(dtype="float32"), relax.TensorType(), relax.TensorType([16], "float32"), value.ty)
    seen = scope.emit(op.call_pure_packed("outside", value.expr, ty_args=scope.pick(vague)))
    shape = scope.pick((None, [16], [8], [2, 4]))
    dtype = scope.pick((None, "float32", "int32"))
    return scope.emit(op.memory.view(seen.expr, None if shape is None else relax.ShapeExpr(shape), dtype))


@TABLE.idiom(
    "StaticPlanBlockMemory",
    needs=(Feature.LOWERED, Feature.SYMBOLIC_SHAPES, Feature.NON_EXECUTABLE, Feature.FUNCTION_ATTRS),
    place=BlockKind.ORDINARY,
    weight=2,
)
def planned_dims(scope: Scope) -> Value:
    """Plant allocations of symbolic dims, and calls that take such dims or memory, in a function that bounds some."""
    if scope.frame.pure_only:
        raise Infeasible("no room for lowered code")
    dim = _symbol(scope)
    scope.frame.impure = True
    if not scope.frame.called and not scope.branches:
        scope.frame.attrs |= {"tir_var_upper_bound": {dim.name: 8}, "tir_non_negative_var": [dim.name]}
    made, room = (
        scope.emit(op.builtin.alloc_tensor(relax.ShapeExpr(dims), dtype, 0), UNIT)
        for dims, dtype in (([dim], "float32"), ([2 * (dim * 4) + 64], "uint8"))
    )
    row = te.placeholder((te.var("n", "int64"),), "float32", name="A")
    kernel = te.create_prim_func([row, te.compute(row.shape, lambda at: row[at] * 2.0)], index_dtype_override="int64")
    var = scope.builder.add_func(kernel.without_attr("global_symbol"), "filled")
    scope.builder.emit(op.vm.call_tir_dyn(var, [made.expr, relax.ShapeExpr([dim])]), "_")
    scope.builder.emit(op.call_builtin_with_ctx("vm.builtin.outside", [made.expr], ty_args=[made.ty]), "_")
    scope.values.remove(room)
    return made


@TABLE.idiom("RewriteCUDAGraph", needs=(Feature.LOWERED, Feature.NON_EXECUTABLE), place=BlockKind.ORDINARY)
def scoped_storages(scope: Scope) -> Value:
    """Plant tensors in storages of several sizes and of two memory scopes, and a call that is given all of them."""
    if scope.frame.pure_only:
        raise Infeasible("no room for lowered code")
    scope.frame.impure = True
    made = []
    for at in range(2 + scope.index(3)):
        size = relax.ShapeExpr([64 * (1 + scope.index(4))])
        storage = op.memory.alloc_storage(size, 0, ("global", "ipc_memory")[at % 2], "uint8")
        tensor_ = op.memory.alloc_tensor(scope.builder.emit(storage, "storage"), 0, relax.ShapeExpr([16]), "float32")
        made.append(scope.emit(tensor_, UNIT))
    given = [each.expr for each in made]
    scope.builder.emit(relax.Call(relax.ExternFunc("filled"), given, ty_args=[relax.TupleType([])]), "_")
    return scope.pick(made)


@TABLE.idiom("DeadCodeElimination", needs=(Feature.NON_EXECUTABLE, Feature.DEAD_CODE), weight=2)
def nested_kernels(scope: Scope) -> Value:
    """Plant a kernel that calls another one for each element, and a call of it that nothing uses."""
    value = tensor(scope, [2 + scope.index(2), 3])
    names = [tirx.Var(name, "float32") for name in "ab"]
    added_ = tirx.PrimFunc(names, tirx.stmt.Return(names[0] + names[1]), ret_type=tvm.ir.PrimType("float32"))
    inner = scope.builder.add_func(added_, "added")
    table = te.placeholder([int(dim) for dim in value.shape], "float32", name="A")
    made = te.compute(table.shape, lambda *at: relax.Call(inner, [table[at], table[at]], ret_ty="float32"), name="B")
    kernel = te.create_prim_func([table, made], index_dtype_override="int64").without_attr("global_symbol")
    outer = scope.builder.add_func(kernel, "added_up")
    _, kept = (scope.emit(relax.call_tir(outer, [value.expr], value.ty), Bounds(-10.0, 10.0)) for _ in range(2))
    return kept


@TABLE.idiom("RemoveUnusedOutputs", needs=(Feature.PRIVATE_CALLS, Feature.TUPLES, Feature.UNUSED_OUTPUTS))
def some_outputs(scope: Scope) -> Value:
    """Plant a call of a private function of three results or more, of which two are used."""
    scope.frame.require_host()
    value = floats(scope, static=True, bounds=UNIT)
    parameter = relax.Var("a", relax.TensorType(list(value.shape), value.dtype))
    count = 3 + scope.index(2)

    def body(emit: Callable[..., Any]) -> Any:
        return relax.Tuple([emit(op.multiply(parameter, relax.const(at + 1, value.dtype))) for at in range(count)])

    var = scope.builder.add_func(block_function(scope.builder, [parameter], body, {}, dataflow=False), "some_outputs")
    parts = [Value(None, value.ty, Bounds(-2.0 - 2.0 * at, 2.0 + 2.0 * at)) for at in range(count)]
    whole = scope.emit(relax.Call(var, [value.expr]), parts=parts)
    return joined(scope, [scope.item(whole, scope.index(2)), scope.item(whole, count - 1)])


@TABLE.idiom(
    "LiftTransformParams",
    "BundleModelParams",
    also_for=("ExpandMatmulOfSum", "BindParams"),
    weight=2,
    needs=(Feature.MULTIPLE_FUNCTIONS, Feature.FUNCTION_ATTRS),
)
def many_weights(scope: Scope) -> Value:
    """Plant a function of one input and so many weights that TVM's maps of them are hash tables, some added up."""
    scope.module.take_room()
    ty = relax.TensorType([2 + scope.index(2)] * 2, "float32")
    value, *weights = (relax.Var(f"w{at}", ty) for at in range(1 + scope.pick((6, 14, 20))))
    parameters = [value, *weights]

    def body(emit: Callable[..., Any]) -> Any:
        last = value
        while weights:
            weight = weights.pop()
            if weights and scope.index(4) == 3:
                last = emit(op.matmul(last, emit(op.add(weight, weights.pop()))))
            last = emit(op.tanh(emit(op.add(last, weight))))
        return last

    add_function(scope, "weighted", parameters, body, {"num_input": 1})
    return scope.tensor()


@TABLE.idiom("CombineParallelMatmul", needs=(Feature.MULTIPLE_FUNCTIONS,), weight=2)
def several_lefts(scope: Scope) -> Value:
    """Plant a function of products alone: two of one left side, three of the next and so on, by turns.

    Of several lefts, some are given a bias or an activation.
    """
    scope.module.take_room()
    lefts = [relax.Var(f"x{at}", relax.TensorType([2, 3], "float32")) for at in range(scope.pick((1, 1, 2, 4)))]
    turns = [at for turn in range(1 + len(lefts)) for at in range(len(lefts)) if turn < 2 + at]
    weights = [relax.Var(f"w{at}", relax.TensorType([3, 1 + scope.index(3)], "float32")) for at in range(len(turns))]
    biases = [relax.Var(f"b{at}", relax.TensorType([each.ty.shape[1]], "float32")) for at, each in enumerate(weights)]

    def body(emit: Callable[..., Any]) -> Any:
        made = [emit(op.matmul(lefts[at], weight)) for at, weight in zip(turns, weights, strict=True)]
        if len(lefts) == 1:
            return op.concat(made, 1)
        ways = (lambda x, _: x, op.add, lambda x, b: op.nn.relu(op.add(x, b)), lambda x, _: op.nn.silu(x))
        biased = zip(turns, made, biases, strict=True)
        return relax.Tuple([ways[at](out, bias) for at, out, bias in biased])

    add_function(scope, "products", [*lefts, *weights, *biases], body)
    return scope.tensor()


_FORMS: tuple[Callable[[Callable[..., Any], Any], Any], ...] = (
    lambda seen, dim: op.nn.batch_norm(seen(4, dim), *(seen(4) for _ in range(4)), axis=1),
    lambda seen, dim: op.nn.batch_flatten(seen(rank=4)),
    lambda seen, dim: op.quantize(seen(rank=2, dtype=None), seen(4), seen(4, dtype="int8"), 1, "int8"),
    lambda seen, dim: op.dequantize(seen(rank=2, dtype=None), seen(4), seen(4, dtype="int8"), 1, "float32"),
    lambda seen, dim: op.dequantize(seen(4, dtype="float8_e5m2"), seen(4), seen(4, dtype="float16"), 0, "float32"),
    lambda seen, dim: op.take(seen(4, 4), tirx.IntImm("int64", 1), axis=0),
    lambda seen, dim: op.multinomial_from_uniform(seen(rank=-1), seen(2, 1), seen(2, 1, dtype="int64")),
    lambda seen, dim: op.less(tirx.FloatImm("float32", 1.0), seen(4, 4)),
    lambda seen, dim: op.less(seen(4, 4), tirx.FloatImm("float32", 1.0)),
    lambda seen, dim: op.strided_slice(seen(dim, 4), [0], [1], [dim]),
    lambda seen, dim: op.memory.view(seen(4, 4, dtype=None), relax.ShapeExpr([4])),
    lambda seen, dim: op.memory.view(seen(rank=-1, dtype=None), relative_byte_offset=tirx.IntImm("int64", 0)),
    lambda seen, dim: op.memory.view(seen(dim), relax.ShapeExpr([(dim + 3) // 4, 4])),
    lambda seen, dim: op.ccl.allgather(seen(rank=2), 2),
    lambda seen, dim: op.call_inplace_packed(
        "outside", *(given := [seen(4), seen(2)]), inplace_indices=[0, 1], ty_args=[each.ty for each in given]
    ),
)
"""Operators in forms that are rare: of operands of which a part is unknown, or of numbers instead of tensors."""


@TABLE.idiom("LegalizeOps", needs=(Feature.NON_EXECUTABLE, Feature.SYMBOLIC_SHAPES, Feature.TUPLES), weight=4)
def rare_forms(scope: Scope) -> Value:
    """Plant operators in rare forms, of what a function outside of the module gives."""
    value, dim = tensor(scope, [4, 4]), _symbol(scope)

    def seen(*dims: Dim, rank: int | None = None, dtype: str | None = "float32") -> Any:
        known = relax.TensorType(list(dims), dtype) if rank is None else relax.TensorType(None, dtype, ndim=rank)
        return scope.builder.emit(op.call_pure_packed("outside", value.expr, ty_args=known))

    made = [scope.emit(scope.pick(_FORMS)(seen, dim)) for _ in range(6 + scope.index(3))]
    return joined(scope, [scope.item(each, 0) if each.is_tuple else each for each in made])


@TABLE.idiom("LowerRuntimeBuiltin", "CallTIRRewrite", needs=(Feature.TUPLES,), weight=2)
def implied_operands(scope: Scope) -> Value:
    """Plant a kernel whose operands are the two results of an operator in one variable, and views without a shape."""
    rows, known = width(scope), Bounds(0, 100, True)
    both = fresh(scope, [2 * rows, 3], "int32", known)
    half = Value(None, relax.TensorType([rows, 3], both.dtype), known)
    halves = scope.emit(op.split(both.expr, 2), parts=[half] * 2)
    add = next(kernel for kernel in KERNELS if kernel.name == "te_add")
    operands = [kernels.function_of(scope, add, [half, half]), halves.expr]
    total = scope.emit(relax.Call(tvm.ir.Op.get("relax.call_tir"), operands, ty_args=[half.ty]), known + known)
    unsigned = scope.emit(op.memory.view(total.expr, None, "uint32"), total.known)
    return scope.emit(op.memory.view(unsigned.expr, None, relax.Tuple([]), tirx.IntImm("int64", 0)), total.known)


@TABLE.idiom("LowerDistIR", needs=(Feature.DISTRIBUTED, Feature.NON_EXECUTABLE), weight=2)
def local_outputs(scope: Scope) -> Value:
    """Plant a public function of distributed tensors beside this one, whose kernel of two results sees one device."""
    distributed.add(scope, False, distributed.two_local_outputs)
    return scope.tensor()


@TABLE.idiom("IPCAllReduceRewrite", needs=(Feature.NON_EXECUTABLE,), weight=3)
def all_reduced(scope: Scope) -> Value:
    """Plant the sum, now and then the maximum, of what a kernel gives on each device."""
    value = relu(scope, floats(scope))
    return scope.emit(op.ccl.allreduce(value.expr, scope.pick(("sum", "sum", "sum", "max")), in_group=scope.flip()))
