"""Many sequences decoded in one context."""
