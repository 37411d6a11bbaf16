"""Programs of others, as a user writes them: each prints the texts that it generates."""
