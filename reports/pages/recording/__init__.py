"""The page of a recording: the texts, and each token with its stages."""
