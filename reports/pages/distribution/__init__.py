"""Whether draws follow the exact law."""
