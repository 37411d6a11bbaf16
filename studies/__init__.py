"""Measurements behind docs/findings-*.md: `python -m studies.NAME` in a checkout."""
