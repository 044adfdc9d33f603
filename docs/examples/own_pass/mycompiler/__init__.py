"""A compiler with one pass of its own."""
