"""Size limits and escaping for untrusted input: of an adapter, a bundle, a file name."""
