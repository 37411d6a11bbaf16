"""Why two runs of a model differ: their first different token, and its cause, decided by replay."""
