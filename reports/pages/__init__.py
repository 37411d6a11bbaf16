"""One file for each page, or a folder for a large one, in which NAME_page.py defines it.

No page imports another; reports/write.py lists them.
"""
