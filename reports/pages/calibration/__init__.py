"""What the distribution tests themselves get wrong, and what they catch."""
