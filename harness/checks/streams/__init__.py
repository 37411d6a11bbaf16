"""What a seed and a reset do to the tokens of a chain."""
