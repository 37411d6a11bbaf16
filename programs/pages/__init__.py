"""The pages of a report about running programs."""
