"""A failing case as a program that stands alone: for a report to the project concerned."""
