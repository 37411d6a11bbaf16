"""How far probabilities and masses are from exact ones."""
