"""Which tokens a chain can draw."""
