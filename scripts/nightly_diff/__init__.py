"""The changes from one night of CI to the next: `python -m scripts.nightly_diff`."""
