"""Failures of a run: grouped, made small, explained."""
