"""What several benchmarks and tests share."""
