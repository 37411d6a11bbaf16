"""The commands about running programs, one file each."""
