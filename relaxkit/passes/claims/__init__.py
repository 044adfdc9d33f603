"""Postconditions: what a pass must have done, checked on its input and output."""
