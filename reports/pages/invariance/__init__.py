"""How far the logits of a text in a batch are from those alone."""
