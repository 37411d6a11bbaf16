"""Time that a token trie saves."""
