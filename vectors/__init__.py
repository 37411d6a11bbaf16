"""Test vectors: what the suites and their judges require, as data that any language reads."""
