"""Chains compared stage by stage with the reference."""
