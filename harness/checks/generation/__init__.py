"""Backends that decode and sample."""
