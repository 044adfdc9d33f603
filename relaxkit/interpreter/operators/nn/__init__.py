"""Reference semantics of operators of neural networks."""
