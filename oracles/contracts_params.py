"""Contracts of high-level passes that bind, lift or retype parameters: callers change."""

from __future__ import annotations

from oracles.contract import (
    IMPURE_IN_DATAFLOW,
    NO_SUCH_FUNCTION,
    PARTS_OF_LEVEL_ONE,
    Abi,
    Contract,
    Idempotence,
    Kept,
    NumericPromise,
    Refusal,
)
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
        abi=Abi.OTHER,
        keeps_public_signatures=False,
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
    ),
    Contract(
        "BindSymbolicVars",
        idempotence=Idempotence.REFUSES,
        keeps_public_signatures=False,
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
    ),
    Contract(
        "BundleModelParams",
        idempotence=Idempotence.NEVER,
        abi=Abi.BUNDLE_MODEL_PARAMS,
        preconditions=(valid_num_input,),
        keeps_public_signatures=False,
        notes="wraps the tuple in a tuple at each run",
        changes=frozenset({Kept.PARAMETER_NAMES}),  # its documentation: several parameters become one
    ),
    Contract(
        "LiftTransformParams",
        abi=Abi.LIFT_TRANSFORM_PARAMS,
        preconditions=(needs_num_input, valid_num_input),
        keeps_public_signatures=False,
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
        ),
        notes="idempotent since upstream issue 17200 was repaired; TVM's test_lift_transform_is_idempotent says so",
        # its documentation: the weights are replaced by what the lifted function gives
        changes=frozenset({Kept.PARAMETER_NAMES}),
        environment=PARTS_OF_LEVEL_ONE,
    ),
    Contract(
        "LazyGetInput",
        idempotence=Idempotence.NEVER,
        abi=Abi.LAZY_GET_INPUT,
        preconditions=(valid_num_input,),
        keeps_public_signatures=False,
        notes="each run adds another callback",
        # num_input counts the callback, too (src/relax/transform/lazy_transform_params.cc)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES}),
    ),
    Contract(
        "LazySetOutput",
        prepare=("ToNonDataflow",),
        idempotence=Idempotence.NEVER,
        abi=Abi.LAZY_SET_OUTPUT,
        preconditions=(valid_num_input,),
        keeps_public_signatures=False,
        tolerated_ill_formedness=(IMPURE_IN_DATAFLOW,),
        notes="ToNonDataflow must run first: otherwise impure calls land in a dataflow block (calibration on the "
        "modules of TVM's own tests counts that as a false alarm; the result still executes)",
        # num_input counts the callback, too, whose calls are impure (src/relax/transform/lazy_transform_params.cc)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES, Kept.PURITY}),
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
        second_run_refusals=(
            Refusal("IndexError", r"", "no parameters left", "the first run removed all parameters"),
            Refusal("AssertionError", r"", "no parameters left", "the first run removed all parameters"),
        ),
        notes="the pass's own output is outside its contract: it has no tuple of parameters any more",
        # the parameters are gone, by its documentation; calls of get_item and set_item are impure, and it takes
        # relax.force_pure away (relax/transform/lazy_transform_params.py)
        changes=frozenset({Kept.PARAMETER_NAMES, Kept.FUNCTION_ATTRIBUTES, Kept.PURITY}),
    ),
    Contract(
        "UpdateParamType",
        numeric=NumericPromise.LOSSY,
        abi=Abi.OTHER,
        keeps_public_signatures=False,
    ),
    Contract(
        "UpdateVDevice",
        preconditions=(needs_vdevices,),
        keeps_public_signatures=False,
        changes=frozenset({Kept.GLOBAL_INFOS}),  # its documentation: it replaces an entry
    ),
)
