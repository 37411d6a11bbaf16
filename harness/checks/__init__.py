"""A folder for each kind of check."""
