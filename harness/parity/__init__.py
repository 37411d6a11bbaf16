"""Judging step by step: a case on the reference and on every backend, and what differs."""
