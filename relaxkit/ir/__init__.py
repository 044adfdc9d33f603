"""Read and rebuild Relax IR: walks, types, copies, comparisons; knows no pass and no oracle.

One question has one function. ``functions`` asks a module for its functions, ``walk`` a function for its bindings,
expressions and calls, ``types`` a type for its parts, ``dims`` an expression over dims for its variables and its value,
``equality`` whether two things are one or alike; ``lowered`` knows lowered code, ``summary`` what a module holds,
``domain`` and ``operator_facts`` what inputs and operators are. ``edits``, ``copying``, ``retype`` and ``sketch`` make
other modules.
"""
