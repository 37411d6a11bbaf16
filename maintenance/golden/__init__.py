"""Golden fixtures: captured, recorded, verified, made again."""
