"""Servers: what one reached over HTTP does with each sampling parameter, seen from outside."""
