"""Bundles side by side."""
