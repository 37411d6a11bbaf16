"""Generation with a token trie, and what it saves."""
