"""Rounds of speculative sampling whose tokens are certain."""
