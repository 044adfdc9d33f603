"""Reference semantics of operators that create, index, join, reduce and reshape tensors."""
