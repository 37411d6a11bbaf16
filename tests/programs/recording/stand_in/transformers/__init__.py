"""As much of transformers as its recorder patches, on numpy."""

__version__ = "5.23.0"
