"""What a release is made of, and whether it may go out: `make release-check`, docs/releasing.md."""
