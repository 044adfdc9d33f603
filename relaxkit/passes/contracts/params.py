"""Contracts of high-level passes that bind, lift or retype parameters: callers change."""

from __future__ import annotations

from functools import partial

from relaxkit.passes.claims import common, params
from relaxkit.passes.contract import (
    Abi,
    Contract,
    Functions,
    Idempotence,
    Kept,
    Locality,
    NumericCheck,
    NumericLimit,
    NumericPromise,
    Operators,
    Postcondition,
    Refusal,
    Trait,
    Variant,
    stated,
)
from relaxkit.passes.contracts import laws
from relaxkit.passes.contracts.shared import (
    COPIES,
    IMPURE_IN_DATAFLOW,
    NO_SUCH_FUNCTION,
    PARTS_OF_LEVEL_ONE,
    UNKNOWN_DEVICE,
    refused,
)
from relaxkit.passes.forms import with_called_closures
from relaxkit.passes.limits import (
    binds_a_callee,
    binds_dims_of_a_cast,
    calls_a_transform,
    erases_a_needed_dim,
    is_refusal,
    replaces_a_hinted_device,
    says_types_of_packed,
    takes_a_callback,
)
from relaxkit.passes.preconditions import (
    has_transform_params,
    needs_num_input,
    needs_transform_params,
    needs_vdevices,
    transforms_of_weights,
    valid_num_input,
)

_INFERENCE = "type inference on the types that the caller chose"
_RETYPED = (
    Refusal("TypeError", r".", "new types do not fit an operator", _INFERENCE),
    Refusal("ValueError", r".", "new types do not fit an operator or a callee", _INFERENCE),
)

_of_unknown_device = partial(is_refusal, refusals=UNKNOWN_DEVICE)
_HINTS = (
    "relax.op.hint_on_device: hints name devices by type and number; when one is replaced they are the user's to change"
)

_NOT_BOUND = r"(did not correspond to any symbolic variables|does not use symbolic var)"
_READERS = Operators("it changes parameters, and what reads them, only")
_STAY = Functions("it works on functions that are there")
_OfParameters = partial(
    Contract, keeps_public_signatures=False, keeps_calls_fitting=False, operators=_READERS, functions=_STAY
)

ROWS: tuple[Contract, ...] = (
    _OfParameters(
        "BindParams",
        limits=(
            NumericLimit(
                NumericCheck.RESULTS,
                "bound function is called inside the module",
                "the request names the function; who asks for it must change its callers: the parameter is gone",
                binds_a_callee,
            ),
        ),
        traits=frozenset({Trait.NAMES_THE_GIVEN}),
        idempotence=Idempotence.REFUSES,
        abi=Abi.BIND_PARAMS,
        refusals=refused(
            "transform/bind_params.cc: ",
            (
                r"(does not have parameter|not a parameter|duplicate|ambiguous)",
                "no such parameter",
                "the key must name exactly one parameter",
            ),
        ),
        second_run_refusals=refused(
            "transform/bind_params.cc: ",
            (r"does not have parameter with name", "parameter bound already", "the first run removed the parameter"),
        ),
        changes=frozenset({Kept.PARAMETER_NAMES}),  # bound parameters are gone, by its documentation
        postconditions=stated(
            params.bound_parameter_left,
            params.inputs_not_there,
            params.other_functions_changed,
            params.parameters_bound_otherwise,
        ),
    ),
    _OfParameters(
        "BindSymbolicVars",
        limits=(
            NumericLimit(
                NumericCheck.RESULTS,
                "bound dim is one that a match_cast defines",
                "which inputs have the dim, only a run would say",
                binds_dims_of_a_cast,
            ),
            NumericLimit(
                NumericCheck.RESULTS,
                "bound function is called inside the module",
                "the request names the function; who asks for it must change its callers: other shapes are an error",
                binds_a_callee,
            ),
        ),
        idempotence=Idempotence.REFUSES,
        refusals=(
            *refused(
                "transform/bind_symbolic_vars.cc: ",
                (_NOT_BOUND, "no such symbolic variable", "every key must be used"),
                (
                    r"multiple symbolic variables",
                    "ambiguous name of a symbolic variable",
                    "the key must name one variable",
                ),
            ),
            NO_SUCH_FUNCTION,
        ),
        second_run_refusals=refused(
            "transform/bind_symbolic_vars.cc: ",
            (_NOT_BOUND, "symbolic variable bound already", "the first run substituted the variable"),
        ),
        notes="results agree for inputs that satisfy the binding only",
        postconditions=stated(
            params.bound_symbol_left,
            params.bound_otherwise,
            Postcondition(
                "other functions stay", partial(common.unnamed_function_changed, at=1), "its documentation of func_name"
            ),
        ),
    ),
    _OfParameters(
        "BundleModelParams",
        idempotence=Idempotence.NEVER,
        abi=Abi.BUNDLE_MODEL_PARAMS,
        preconditions=(valid_num_input,),
        notes="wraps the tuple in a tuple at each run",
        changes=frozenset({Kept.PARAMETER_NAMES}),  # its documentation: several parameters become one
        postconditions=stated(params.not_bundled),
    ),
    _OfParameters(
        "LiftTransformParams",
        inside=("BundleModelParams", *COPIES),
        variants=(
            Variant(
                r"consume_params",
                {"idempotence": Idempotence.NEVER},
                "lift_transform_params.cc, post_proc: each run lets go of the weights of every function named "
                "..._transform_params",
            ),
            Variant(
                r"shared_transform=(True|\[)",
                {"locality": Locality.MODULE},
                "its documentation: one transform function for all, or for those that are named",
            ),
        ),
        abi=Abi.LIFT_TRANSFORM_PARAMS,
        preconditions=(needs_num_input, valid_num_input, transforms_of_weights),
        refusals=refused(
            "transform/lift_transform_params.cc",
            (
                r"functions\.size\(\)",
                "shared transform of no function",
                ": shared_transform needs a function with num_input",
            ),
            (
                r"all function names must occur within the IRModule",
                "no such function",
                ": the message says what is wrong",
            ),
            (
                r"MatchCast is not supported",
                "match_cast under a shared transform",
                ": the message says what is not supported",
            ),
            (
                r"The number of parameters should be the same for all target functions",
                "functions of a shared transform differ",
                ", ParamRemapper: the message says what is asked for",
            ),
        ),
        notes="idempotent since upstream issue 17200 was repaired; TVM's test_lift_transform_is_idempotent says so",
        # its documentation: the weights are replaced by what the lifted function gives
        changes=frozenset({Kept.PARAMETER_NAMES}),
        environment=PARTS_OF_LEVEL_ONE,
        forms=(with_called_closures,),  # LambdaLift is its second part
        operators=None,
        functions=Functions("its documentation: lifts only", may_come=True),
        postconditions=stated(params.not_lifted, params.liftable_left),
    ),
    _OfParameters(
        "LazyGetInput",
        inside=("EliminateCommonSubexpr", "DeadCodeElimination"),  # lazy_transform_params.cc
        idempotence=Idempotence.NEVER,
        abi=Abi.LAZY_GET_INPUT,
        preconditions=(valid_num_input,),
        notes="each run adds another callback",
        # num_input counts the callback, too (src/relax/transform/lazy_transform_params.cc)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES}),
        operators=Operators("src/relax/transform/lazy_transform_params.cc: ends with RemoveAllUnused", fewer=("*",)),
        postconditions=stated(params.input_not_lazy),
    ),
    _OfParameters(
        "LazySetOutput",
        prepare=("ToNonDataflow",),
        idempotence=Idempotence.NEVER,
        abi=Abi.LAZY_SET_OUTPUT,
        preconditions=(valid_num_input,),
        tolerated_ill_formedness=(IMPURE_IN_DATAFLOW,),
        notes="ToNonDataflow must run first: otherwise impure calls land in a dataflow block (calibration on the "
        "modules of TVM's own tests counts that as a false alarm; the result still executes)",
        # num_input counts the callback, too, whose calls are impure (src/relax/transform/lazy_transform_params.cc)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES, Kept.PURITY}),
        postconditions=stated(params.output_not_lazy),
    ),
    _OfParameters(
        "LazyTransformParams",
        limits=(
            NumericLimit(
                NumericCheck.RESULTS,
                "the transform is called inside the module",
                'relax/transform/lazy_transform_params.py: "Convert transform_params functions into a lazy version", '
                "whose parameters are a callback's to fetch: who asks for it must change its callers",
                calls_a_transform,
            ),
        ),
        prepare=("LiftTransformParams", "ToNonDataflow", "RemovePurityChecking"),
        prepared_when=has_transform_params,
        prepare_ready=("ToNonDataflow", "RemovePurityChecking"),
        idempotence=Idempotence.REFUSES,
        abi=Abi.LAZY_TRANSFORM_PARAMS,
        preconditions=(needs_transform_params,),
        tolerated_ill_formedness=(IMPURE_IN_DATAFLOW,),
        second_run_refusals=(
            Refusal("IndexError", r"", "no parameters left", "the first run removed all parameters"),
            Refusal("AssertionError", r"", "no parameters left", "the first run removed all parameters"),
        ),
        notes="the pass's own output is outside its contract: it has no tuple of parameters any more",
        # the parameters are gone, by its documentation; calls of get_item and set_item are impure, and it takes
        # relax.force_pure away (relax/transform/lazy_transform_params.py)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES, Kept.PURITY}),
        operators=None,
        postconditions=stated(params.transform_not_lazy),
    ),
    _OfParameters(
        "UpdateParamType",
        laws=laws.CASTS,
        limits=(
            NumericLimit(
                NumericCheck.FORM,
                "the caller's types leave out a dim that the code needs",
                "src/relax/transform/update_param_type.cc: it puts in the types that it is given. Where R.full or a "
                "like needs the dim m of x: R.Tensor((1, m)), and x becomes R.Tensor(ndim=2), no module is right",
                erases_a_needed_dim,
                error=r"Var (\w+) is not defined",
            ),
            NumericLimit(
                NumericCheck.RESULTS,
                "a packed call says which type it gives",
                "relax.op.call_pure_packed: ty_args say which type the result has, whatever it then gives",
                says_types_of_packed,
            ),
            NumericLimit(
                NumericCheck.RESULTS,
                "a callback is handed values of the types that the caller chose",
                "documentation of LazySetOutput: the callback receives the outputs",
                takes_a_callback,
            ),
        ),
        variants=(
            Variant(
                r"TensorType\(",
                {"refusals": _RETYPED, "tolerated_ill_formedness": (r"FValidate",)},
                '"ty_func(Var) -> Type": the caller chooses new types, and what type inference then says of the body '
                "is the answer to that choice. Only where nothing is retyped is every error the pass's own",
            ),
        ),
        traits=frozenset({Trait.RETYPES_THE_GIVEN}),
        numeric=NumericPromise.LOSSY,
        abi=Abi.RETYPE_PARAMS,
        postconditions=stated(params.parameter_type_not_updated),
    ),
    Contract(
        "UpdateVDevice",
        limits=(
            NumericLimit(NumericCheck.RESULTS, "hint may name a replaced device", _HINTS, replaces_a_hinted_device),
            NumericLimit(NumericCheck.BUILD, "hint names a replaced device", _HINTS, _of_unknown_device),
        ),
        traits=frozenset({Trait.NAMES_THE_GIVEN}),
        preconditions=(needs_vdevices,),
        keeps_public_signatures=False,
        changes=frozenset({Kept.GLOBAL_INFOS}),  # its documentation: it replaces an entry
        operators=_READERS,
        functions=_STAY,
        postconditions=stated(params.old_device_left, params.device_table_not_updated),
    ),
)
