"""Prove that two modules compute the same for all inputs and all symbolic dims, by value numbering.

Both modules are evaluated symbolically into *terms* of one table, in which equal terms have equal numbers: a parameter
is a leaf by its position, an operator an uninterpreted function of its operands, attributes and type arguments, a
kernel the hash of its body, a dim the dim of the value that defines it. Calls are inlined, tuples projected, impure
calls chained. Where the results and the effects of every public function have the same numbers, the modules compute
the same, whatever the operators mean; where not, nothing is proved, and the first place at which the terms part says
what the pass has changed. docs/proof.md has the assumptions.

:mod:`relaxkit.proof.terms` is the table, :mod:`~relaxkit.proof.dims` compares dims, :mod:`~relaxkit.proof.evaluate`
walks the language, :mod:`~relaxkit.proof.prove` compares two modules.
"""

from relaxkit.proof.prove import Proof, Result, prove

__all__ = ["Proof", "Result", "prove"]
