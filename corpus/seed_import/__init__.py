"""Read seeds out of a checkout of TVM."""
