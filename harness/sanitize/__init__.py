"""Text of others: what an adapter, a bundle or a file name says."""
