"""toy: see README.md."""
