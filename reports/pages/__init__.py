"""One folder a page: page.py says what it is; model, build and one file a format. No page imports
another; reports/write.py lists them."""
