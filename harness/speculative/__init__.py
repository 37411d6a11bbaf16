"""Speculative sampling judged: what a round does, taken apart, against what it must do."""
