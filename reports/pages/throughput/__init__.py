"""What sampling costs."""
