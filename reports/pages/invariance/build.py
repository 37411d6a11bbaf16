"""Builds the model of the invariance page from bundles."""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.invariance.model import InvarianceReport, InvarianceRow


def report_of(bundles: list[Bundle]) -> InvarianceReport | None:
    """Return a row for each backend, also for those that do not run; None where nothing was
    measured."""
    rows = [row for bundle in bundles for row in _rows(bundle)]
    return InvarianceReport(rows=rows) if rows else None


def _rows(bundle: Bundle) -> Iterator[InvarianceRow]:
    for result in bundle.invariances:
        for backend, info in bundle.info.backends.items():
            measured = result.backends.get(backend)
            failed = measured.failed if measured else f"unavailable: {info.unavailable}"
            yield InvarianceRow(
                bundle=visible(bundle.folder.resolve().name),
                case=visible(result.id),
                backend=visible(backend),
                device=visible(info.device),
                machine=visible(bundle.info.machine.cpu),
                texts=result.texts,
                tokens=result.tokens,
                failed=visible(failed),
                widths=measured.widths if measured else [],
                replay=visible(replay(bundle.info, result.suite, result.id, [backend])),
            )
