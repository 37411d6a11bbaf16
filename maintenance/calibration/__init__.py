"""Measures what the statistical tests and the timings get wrong."""
