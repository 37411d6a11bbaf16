"""The trend over a history."""
