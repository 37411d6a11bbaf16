"""The estimates of distribution tests against their margins."""

from sampler_parity.reports.pages.distribution.model import CellRow
from sampler_parity.reports.pictures.forest import ForestLine, forest
from sampler_parity.reports.pictures.picture import BAD, DOT

ROWS = 30  # of a picture: what fails stands first


def margins(rows: list[CellRow], salt: str) -> str:
    """Return an <svg> element, or "" where nothing is bounded. salt keeps its ids apart."""
    several = len({row.backend for row in rows}) > 1
    lines = [
        ForestLine(
            f"{row.cell} {row.backend}" if several else row.cell,
            row.low / row.margin,
            None if row.estimate is None else row.estimate / row.margin,
            row.high / row.margin,
            DOT if row.met else BAD,
        )
        for row in rows
        if row.margin and row.low is not None and row.high is not None
    ]
    return forest(lines[:ROWS], "share of the margin", salt, log=False)
