"""Draw from modules of a seed collection: mutate them, or splice their functions into drawn modules.

``file`` and ``collection`` read them, ``facts`` describes them when they are imported, ``mutate`` changes them,
``splice`` copies functions of theirs, and ``bounds`` argues whether such code is defined for all inputs.
"""
