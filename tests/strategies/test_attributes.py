from __future__ import annotations

from drawing import drawn
from tvm import relax

from strategies import Feature, ir_modules
from strategies.constructs.attributes import MODULE_KEYS, OWN_FUNCTION_KEYS


def test_values_of_attributes_are_of_several_types():
    kinds = set()
    keys = set()
    for module in drawn(ir_modules(demand=[Feature.MODULE_ATTRS, Feature.FUNCTION_ATTRS]), 60):
        for key, value in module.attrs.items():
            keys.add(str(key))
            kinds.add(type(value).__name__)
        for function in module.functions.values():
            if isinstance(function, relax.Function) and function.attrs:
                for key, value in function.attrs.items():
                    if str(key) in OWN_FUNCTION_KEYS:
                        kinds.add(type(value).__name__)
                        keys.add(str(key))
    assert len(kinds) >= 6
    assert keys & set(MODULE_KEYS)
    assert keys & set(OWN_FUNCTION_KEYS)


def test_names_of_symbolic_dims_in_attributes_are_those_of_the_function():
    seen = 0
    demand = [Feature.FUNCTION_ATTRS, Feature.SYMBOLIC_SHAPES]
    for module in drawn(ir_modules(demand=demand), 60):
        for function in module.functions.values():
            if isinstance(function, relax.Function) and function.attrs and "tir_non_negative_var" in function.attrs:
                seen += 1
                names = {var.name for var in relax.analysis.defined_symbolic_vars(function)}
                assert {str(name) for name in function.attrs["tir_non_negative_var"]} <= names
    assert seen
