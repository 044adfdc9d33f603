"""Standalone scripts that show a finding with TVM and NumPy only."""
