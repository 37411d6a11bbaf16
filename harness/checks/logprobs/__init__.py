"""The log-probabilities that an engine returns: docs/background/log-probabilities.md."""
