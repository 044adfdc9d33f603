"""How the arguments of passes are drawn, one theme a file; ``strategies.pass_table`` says which pass takes which.

An argument is source text over the names of :func:`strategies.pass_arguments.names.names`, so that a drawn pass can be
stored, replayed and pasted into a script.  It is drawn from what the module has: names of its functions, parameters and
symbolic dims, operators that it calls.
"""
