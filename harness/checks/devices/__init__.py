"""Logits that each backend computes on its own device."""
