"""Changes between two versions: the chain of a user on generated rows, on both."""
