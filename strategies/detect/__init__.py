"""Read off a module what is in it: features, operators and operands, and the facts that passes' arguments need."""
