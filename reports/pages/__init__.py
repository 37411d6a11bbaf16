"""One folder for each page: page.py defines it, next to its model, build and formats.

No page imports another; reports/write.py lists them.
"""
