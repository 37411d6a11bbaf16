"""The model of the accuracy page; reports/schemas/accuracy.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.accuracy.record import AccuracyOnBackend
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.strict import Strict


class AccuracyRow(Strict):
    """A sampler at a size on a backend; of several bundles, with the name of its bundle."""

    backend: str
    sampler: str
    n_vocab: int
    found: AccuracyOnBackend


class AccuracyReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["accuracy"] = "accuracy"
    rows: list[AccuracyRow]


def report_of(bundles: list[Bundle]) -> AccuracyReport | None:
    """Return the rows by sampler and size; None where nothing was measured."""
    rows = []
    for bundle in bundles:
        of = f" of {bundle.folder.resolve().name}" if len(bundles) > 1 else ""
        for result in bundle.accuracies:
            for backend, found in result.backends.items():
                shown = {"backend": backend + of, "found": found.model_dump()}
                row = shown | {"sampler": result.sampler, "n_vocab": result.n_vocab}
                rows.append(AccuracyRow.model_validate(visible(row)))
    rows.sort(key=lambda row: (row.sampler, row.n_vocab))
    return AccuracyReport(rows=rows) if rows else None
