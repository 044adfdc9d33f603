"""Run a script in several releases of TVM."""
