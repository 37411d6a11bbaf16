"""Logits of a text by the width of the batch that it is decoded in."""
