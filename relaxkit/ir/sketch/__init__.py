"""Edit a module: a mutable form of it, and the way back."""
