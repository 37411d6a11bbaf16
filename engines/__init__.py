"""One folder for each engine: engine.toml and all that belongs to it. See CONTRIBUTING.md."""
