"""Drawn arguments of passes, one theme a file; ``strategies.pass_arguments.table`` says which pass takes which.

An argument is source text over the names of :func:`relaxkit.passes.pass_ref.namespace`, so that a drawn pass can be
stored, replayed and pasted into a script.  It is drawn from what the module has: names of its functions, parameters and
symbolic dims, operators that it calls.
"""
