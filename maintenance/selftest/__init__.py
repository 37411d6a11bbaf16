"""Runs every planted fault as a backend: all must be caught."""
