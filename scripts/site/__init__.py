"""Everything as a site that any host serves: `make site`, docs/background/releasing.md."""
