"""Draw calls of operators of neural networks, a family a file."""
