"""Many rows sampled at once."""
