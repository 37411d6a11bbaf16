"""Time that sampling takes."""
