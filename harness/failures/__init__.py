"""Failures of a run: grouped, minimized, explained."""
