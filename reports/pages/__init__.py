"""The pages of a report, a folder each."""
