"""Lower a module and link it with kernels that are compiled once."""
