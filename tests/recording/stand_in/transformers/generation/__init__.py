"""Its modules of generation."""
