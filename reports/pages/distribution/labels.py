"""A distribution test in words."""

from sampler_parity.reports.labels import short
from sampler_parity.reports.pages.distribution.model import CellRow


def interval(row: CellRow) -> str:
    """ "0.0015 [0, 0.0049]", or nothing where nothing is bounded."""
    if row.low is None or row.high is None:
        return short(row.estimate)
    return f"{short(row.estimate)} [{short(row.low)}, {short(row.high)}]"


def over(row: CellRow) -> str:
    return f"{row.bins:,} bins" if row.bins else f"all {row.n_vocab:,} tokens"
