"""Minimization of a finding on its IR."""
