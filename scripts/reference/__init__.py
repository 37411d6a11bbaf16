"""Generate the reference of the documentation, docs/reference, from the code."""
