"""Reports of bundles: pages/ has the pages, write.py lists them, the other files are shared."""
