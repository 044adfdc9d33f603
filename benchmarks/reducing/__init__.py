"""What ``benchmarks/reduction.py`` minimizes, and what it compares the minimizer with."""
