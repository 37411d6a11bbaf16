"""The pages of a report for maintainers."""
