"""Make the files of a release and check them: `make release-check`.

docs/background/releasing.md explains it.
"""
