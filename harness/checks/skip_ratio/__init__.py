"""The share of forward passes that a trie saves."""
