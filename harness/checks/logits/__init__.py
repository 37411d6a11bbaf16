"""Logits of a prompt, measured on every device."""
