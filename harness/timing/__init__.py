"""Benchmarks for pytest-benchmark."""
