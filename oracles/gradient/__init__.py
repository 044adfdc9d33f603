"""Judge the gradients that a pass derives."""
