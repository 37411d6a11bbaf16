"""Verdicts against the reference, with devices, drift, distribution tests and speed."""
