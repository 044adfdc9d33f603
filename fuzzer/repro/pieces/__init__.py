"""Pieces of repro scripts: ordinary functions, whose source text is copied into the scripts.

Those of one oracle alone stand beside its record in :mod:`fuzzer.repro.checks`.

A piece may use only what a script imports (``np``, ``tvm``, ``tvm_ffi``, ``relax`` and the standard library) and the
functions of :mod:`fuzzer.repro.pieces.frame`, which every script contains.  Each ``check_*`` returns a pair: ``BUG``,
``OK`` or ``DIFFERENT``, and one line that says what was seen.
"""
