"""The tokens that a chain can draw."""
