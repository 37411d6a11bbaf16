"""The commands for maintainers, one file each."""
