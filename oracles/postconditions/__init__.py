"""Postconditions of TVM's passes, one file per table of contracts."""
