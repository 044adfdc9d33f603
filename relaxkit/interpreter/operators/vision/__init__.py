"""Reference semantics of operators on images and regions."""
