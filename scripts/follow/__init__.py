"""Follow a new release of llama.cpp: see __main__.py."""
