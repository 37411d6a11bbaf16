"""The lines of a bundle: one model for each kind of result."""
