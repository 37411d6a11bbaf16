"""The page over all pages."""
