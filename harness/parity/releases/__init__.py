"""Builds judged by what their own release meant, and which changes matter."""
