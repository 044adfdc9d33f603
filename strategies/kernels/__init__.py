"""Draw TIR kernels and the calls that use them.

``table`` holds fixed kernels. ``drawn`` builds others of one to three ``stages`` out of scalar
``terms``, node by node (``builder``); ``in_place`` those that overwrite their operands. ``draw`` chooses among them.
"""
