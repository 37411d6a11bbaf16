"""Tokens a second with decoding."""
