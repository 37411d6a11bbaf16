"""The distance of probabilities and masses from their exact values."""
