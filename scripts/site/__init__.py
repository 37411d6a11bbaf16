"""Everything as a site that any host serves: `make site`, docs/site.md."""
