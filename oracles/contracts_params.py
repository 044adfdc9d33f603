"""Contracts of high-level passes that bind, lift or retype parameters: callers change."""

from __future__ import annotations

from functools import partial

from oracles.contract import (
    IMPURE_IN_DATAFLOW,
    NO_SUCH_FUNCTION,
    PARTS_OF_LEVEL_ONE,
    Abi,
    Contract,
    Idempotence,
    Kept,
    NumericPromise,
    Postcondition,
    Refusal,
)
from oracles.postconditions import common, params
from oracles.preconditions import (
    has_transform_params,
    needs_num_input,
    needs_transform_params,
    needs_vdevices,
    valid_num_input,
)

ROWS: tuple[Contract, ...] = (
    Contract(
        "BindParams",
        idempotence=Idempotence.REFUSES,
        abi=Abi.BIND_PARAMS,
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        refusals=(
            Refusal(
                "InternalError",
                r"(does not have parameter|not a parameter|duplicate|ambiguous)",
                "no such parameter",
                "src/relax/transform/bind_params.cc: the key must name exactly one parameter",
            ),
        ),
        second_run_refusals=(
            Refusal(
                "InternalError",
                r"does not have parameter with name",
                "parameter bound already",
                "src/relax/transform/bind_params.cc: the first run removed the parameter",
            ),
        ),
        changes=frozenset({Kept.PARAMETER_NAMES}),  # bound parameters are gone, by its documentation
        postconditions=(
            Postcondition(
                "bound parameters are gone",
                params.bound_parameter_left,
                "its documentation: bind params of function of the module to constant tensors",
            ),
            Postcondition(
                "num_input counts parameters that are there",
                params.inputs_not_there,
                "the passes that read it assert so (BundleModelParams), or die of it (LiftTransformParams: SIGSEGV)",
            ),
            Postcondition(
                "other functions stay",
                params.other_functions_changed,
                "src/relax/transform/bind_params.cc: the function is found by its symbol, a private one by its name",
            ),
            Postcondition(
                "no operator comes or goes",
                common.operators_changed,
                "it changes parameters, and what reads them, only",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
    Contract(
        "BindSymbolicVars",
        idempotence=Idempotence.REFUSES,
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        refusals=(
            Refusal(
                "InternalError",
                r"did not correspond to any symbolic variables",
                "no such symbolic variable",
                "src/relax/transform/bind_symbolic_vars.cc: every key must be used",
            ),
            NO_SUCH_FUNCTION,
            Refusal(
                "InternalError",
                r"multiple symbolic variables",
                "ambiguous name of a symbolic variable",
                "src/relax/transform/bind_symbolic_vars.cc: the key must name one variable",
            ),
            Refusal(
                "InternalError",
                r"does not use symbolic var",
                "no such symbolic variable",
                "src/relax/transform/bind_symbolic_vars.cc: every key must be used",
            ),
        ),
        second_run_refusals=(
            Refusal(
                "InternalError",
                r"(did not correspond to any symbolic variables|does not use symbolic var)",
                "symbolic variable bound already",
                "src/relax/transform/bind_symbolic_vars.cc: the first run substituted the variable",
            ),
        ),
        notes="results agree for inputs that satisfy the binding only",
        postconditions=(
            Postcondition(
                "bound dims are gone",
                params.bound_symbol_left,
                "its documentation: bind symbolic variables of the module",
            ),
            Postcondition("other functions stay", params.unnamed_function_changed, "its documentation of func_name"),
            Postcondition(
                "no operator comes or goes",
                common.operators_changed,
                "it changes parameters, and what reads them, only",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
    Contract(
        "BundleModelParams",
        idempotence=Idempotence.NEVER,
        abi=Abi.BUNDLE_MODEL_PARAMS,
        preconditions=(valid_num_input,),
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        notes="wraps the tuple in a tuple at each run",
        changes=frozenset({Kept.PARAMETER_NAMES}),  # its documentation: several parameters become one
        postconditions=(
            Postcondition(
                "weights are one tuple",
                params.not_bundled,
                "its documentation: bundle several model parameters into a single tuple parameter",
            ),
            Postcondition(
                "no operator comes or goes",
                common.operators_changed,
                "it changes parameters, and what reads them, only",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
    Contract(
        "LiftTransformParams",
        abi=Abi.LIFT_TRANSFORM_PARAMS,
        preconditions=(needs_num_input, valid_num_input),
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        refusals=(
            Refusal(
                "InternalError",
                r"functions\.size\(\)",
                "shared transform of no function",
                "src/relax/transform/lift_transform_params.cc: shared_transform needs a function with num_input",
            ),
            Refusal(
                "InternalError",
                r"all function names must occur within the IRModule",
                "no such function",
                "src/relax/transform/lift_transform_params.cc: the message says what is wrong",
            ),
            Refusal(
                "InternalError",
                r"MatchCast is not supported",
                "match_cast under a shared transform",
                "src/relax/transform/lift_transform_params.cc: the message says what is not supported",
            ),
            Refusal(
                "InternalError",
                r"The number of parameters should be the same for all target functions",
                "functions of a shared transform differ",
                "src/relax/transform/lift_transform_params.cc, ParamRemapper: the message says what is asked for",
            ),
        ),
        notes="idempotent since upstream issue 17200 was repaired; TVM's test_lift_transform_is_idempotent says so",
        # its documentation: the weights are replaced by what the lifted function gives
        changes=frozenset({Kept.PARAMETER_NAMES}),
        environment=PARTS_OF_LEVEL_ONE,
        postconditions=(
            Postcondition(
                "each function has its transform",
                params.not_lifted,
                "its documentation; src/relax/transform/lift_transform_params.cc",
            ),
            Postcondition(
                "no computation on weights alone is left",
                params.liftable_left,
                "src/relax/transform/lift_transform_params.cc: conditions 1 to 5 of CanLiftBinding",
            ),
            Postcondition(
                "no function goes", partial(common.functions_changed, may_come=True), "its documentation: lifts only"
            ),
        ),
    ),
    Contract(
        "LazyGetInput",
        idempotence=Idempotence.NEVER,
        abi=Abi.LAZY_GET_INPUT,
        preconditions=(valid_num_input,),
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        notes="each run adds another callback",
        # num_input counts the callback, too (src/relax/transform/lazy_transform_params.cc)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES}),
        postconditions=(
            Postcondition(
                "inputs come from a callback",
                params.input_not_lazy,
                "its documentation: a function fget_item that lazily loads the weights",
            ),
            Postcondition(
                "no operator comes",
                partial(common.operators_changed, fewer=("*",)),
                "src/relax/transform/lazy_transform_params.cc: ends with RemoveAllUnused",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
    Contract(
        "LazySetOutput",
        prepare=("ToNonDataflow",),
        idempotence=Idempotence.NEVER,
        abi=Abi.LAZY_SET_OUTPUT,
        preconditions=(valid_num_input,),
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        tolerated_ill_formedness=(IMPURE_IN_DATAFLOW,),
        notes="ToNonDataflow must run first: otherwise impure calls land in a dataflow block (calibration on the "
        "modules of TVM's own tests counts that as a false alarm; the result still executes)",
        # num_input counts the callback, too, whose calls are impure (src/relax/transform/lazy_transform_params.cc)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES, Kept.PURITY}),
        postconditions=(
            Postcondition(
                "outputs go to a callback",
                params.output_not_lazy,
                "its documentation: a function fset_output receives the outputs",
            ),
            Postcondition(
                "no operator comes or goes",
                common.operators_changed,
                "it changes parameters, and what reads them, only",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
    Contract(
        "LazyTransformParams",
        prepare=("LiftTransformParams", "ToNonDataflow", "RemovePurityChecking"),
        prepared_when=has_transform_params,
        prepare_ready=("ToNonDataflow", "RemovePurityChecking"),
        idempotence=Idempotence.REFUSES,
        abi=Abi.LAZY_TRANSFORM_PARAMS,
        preconditions=(needs_transform_params,),
        tolerated_ill_formedness=(IMPURE_IN_DATAFLOW,),
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        second_run_refusals=(
            Refusal("IndexError", r"", "no parameters left", "the first run removed all parameters"),
            Refusal("AssertionError", r"", "no parameters left", "the first run removed all parameters"),
        ),
        notes="the pass's own output is outside its contract: it has no tuple of parameters any more",
        # the parameters are gone, by its documentation; calls of get_item and set_item are impure, and it takes
        # relax.force_pure away (relax/transform/lazy_transform_params.py)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES, Kept.PURITY}),
        postconditions=(
            Postcondition(
                "weights are no parameters",
                params.transform_not_lazy,
                "its documentation: convert transform_params functions into a lazy version",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
    Contract(
        "UpdateParamType",
        numeric=NumericPromise.LOSSY,
        abi=Abi.RETYPE_PARAMS,
        keeps_public_signatures=False,
        keeps_calls_fitting=False,
        postconditions=(
            Postcondition(
                "parameters have the types asked for",
                params.parameter_type_not_updated,
                "its documentation: ty_func gives the type with which each parameter should be updated",
            ),
            Postcondition(
                "no operator comes or goes",
                common.operators_changed,
                "it changes parameters, and what reads them, only",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
    Contract(
        "UpdateVDevice",
        preconditions=(needs_vdevices,),
        keeps_public_signatures=False,
        changes=frozenset({Kept.GLOBAL_INFOS}),  # its documentation: it replaces an entry
        postconditions=(
            Postcondition(
                "no type mentions the old device",
                params.old_device_left,
                "its documentation: update the virtual device",
            ),
            Postcondition(
                "the table names the new device",
                params.device_table_not_updated,
                "src/relax/transform/update_vdevice.cc: Run",
            ),
            Postcondition(
                "no operator comes or goes",
                common.operators_changed,
                "it changes parameters, and what reads them, only",
            ),
            Postcondition(
                "no function comes or goes", common.functions_changed, "it works on functions that are there"
            ),
        ),
    ),
)
