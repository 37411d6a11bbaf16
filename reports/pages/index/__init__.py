"""The overview, over all other pages."""
