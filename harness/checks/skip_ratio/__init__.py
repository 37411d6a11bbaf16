"""How many forward passes a trie saves."""
