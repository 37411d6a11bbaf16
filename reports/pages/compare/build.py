"""Builds the model of the comparison from several bundles."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.comparison import columns
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.compare.model import CompareReport


def report_of(bundles: list[Bundle]) -> CompareReport | None:
    """Return None if nothing can be compared, as with a single bundle."""
    compared = columns.compare(bundles) if len(bundles) > 1 else None
    return CompareReport.model_validate(visible(compared.model_dump())) if compared else None
