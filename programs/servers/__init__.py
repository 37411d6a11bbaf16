"""Check over HTTP how a server treats each sampling parameter."""
