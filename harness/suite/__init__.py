"""Suite files and their expansion into cases."""
