"""How bundles differ."""
