"""Draw the parts of a function: scope, values, dims, bounds, bindings.

``choices`` turns Hypothesis draws into small decisions. ``scope`` is what every operator, construct and idiom is given:
it finds or makes operands (``scope.tensor``), brings them into bounds (``scope.keep``, ``guards``) and binds calls
(``scope.emit``, in ``emitter``). A ``Value`` (``values``) is a variable with what is known of it: type, shape, interval
(``bounds``). ``frame`` holds what belongs to the module and to the function under construction, ``features`` the
switches of the case, ``body`` the blocks.
"""
