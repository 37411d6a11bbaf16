"""A stand-in for transformers, and a program of it: what the recorder patches, on numpy."""
