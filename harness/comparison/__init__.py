"""Bundles beside each other and over time."""
