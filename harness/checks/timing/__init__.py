"""Times of chains and their certainty: rounds, verdicts, slopes, notices."""
