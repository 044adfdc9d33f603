"""Draw constructs of Relax, a theme a file: branches, recursion, closures, devices, composites, losses.

Each function binds something in the scope that it is given and returns its value. ``strategies.actions`` is the table
of those that a step may take.
"""
