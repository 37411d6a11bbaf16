"""The commands of `sampler-parity`, each in a file of its name. No other package imports it."""
