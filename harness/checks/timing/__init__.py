"""How fast, and how sure: rounds, verdicts, slopes, notices."""
