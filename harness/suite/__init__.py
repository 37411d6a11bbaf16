"""How a file becomes cases."""
