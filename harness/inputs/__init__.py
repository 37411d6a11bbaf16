"""The inputs that cases name: logits, fixtures, vocabularies, models, and completed chains."""
