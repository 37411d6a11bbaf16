"""Tests whether draws follow the exact distribution."""
