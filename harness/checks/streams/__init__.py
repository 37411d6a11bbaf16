"""The effect of a seed and a reset on the tokens of a chain."""
