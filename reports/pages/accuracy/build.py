"""Builds the model of the accuracy page from bundles."""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.accuracy.model import AccuracyReport, Row


def report_of(bundles: list[Bundle]) -> AccuracyReport | None:
    """Return a row for each sampler, size and backend; None where nothing was measured."""
    rows = [row for bundle in bundles for row in _rows(bundle)]
    rows.sort(key=lambda row: (row.sampler, row.n_vocab))
    return AccuracyReport(rows=rows) if rows else None


def _rows(bundle: Bundle) -> Iterator[Row]:
    for result in bundle.accuracies:
        for backend, info in bundle.info.backends.items():
            measured = result.backends.get(backend)
            failed = measured.failed if measured else f"unavailable: {info.unavailable}"
            yield Row(
                bundle=visible(bundle.folder.resolve().name),
                backend=visible(backend),
                build=visible(info.build),
                machine=visible(bundle.info.machine.cpu),
                sampler=visible(result.sampler),
                n_vocab=result.n_vocab,
                rows=result.rows,
                failed=visible(failed),
                figures=measured.figures if measured else None,
            )
