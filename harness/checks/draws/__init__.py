"""Chains compared by the tokens that they draw."""
