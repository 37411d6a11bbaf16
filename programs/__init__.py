"""Judges running programs: recordings, servers, and settings across two versions."""
