"""Chains that draw their own seeds."""
