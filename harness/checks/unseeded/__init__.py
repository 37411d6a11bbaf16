"""Chains that draw a seed for themselves."""
