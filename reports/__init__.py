"""Reports of bundles: render/ is what pages share, pages/ a folder each, write.py lists them."""
