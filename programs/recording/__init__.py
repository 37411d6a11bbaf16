"""Record what a real program samples, read such a recording, and judge it."""
