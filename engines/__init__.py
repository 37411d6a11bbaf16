"""One folder for each engine: engine.toml and its code (docs/background/add-an-engine.md)."""
