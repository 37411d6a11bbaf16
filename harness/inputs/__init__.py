"""What cases name: logits, fixtures, vocabularies, models, and chains made complete."""
