"""Writes what a page comes to as lines for a terminal."""

from sampler_parity.reports.summary import PageSummary


def terminal_lines(summary: PageSummary) -> list[str]:
    """Return its lines, each on one line, whatever text a backend sent."""
    return [line.replace("\n", " ").replace("\t", " ") for line in summary.lines]
