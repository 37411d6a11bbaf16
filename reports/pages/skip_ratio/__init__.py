"""What a token trie saves."""
