"""Compare what the program computes before and after a pass."""
