"""What was checked, and what differs."""
