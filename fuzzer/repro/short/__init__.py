"""The short script: the module, the call, one assertion, with TVM and NumPy alone and nothing around them."""
