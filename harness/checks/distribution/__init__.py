"""Judging draws: cells, the exact law, and what the tests themselves get wrong."""
