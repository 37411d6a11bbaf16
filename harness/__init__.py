"""Runs cases on sampler backends, compares them with the reference, records and gates."""
