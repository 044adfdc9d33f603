"""Search for the smallest case that still shows the failure."""
