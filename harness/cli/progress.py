"""The progress bar of a run: cases done, and how many of each verdict."""

import sys
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.bundle.records.decode import DecodeResult
from sampler_parity.harness.verdicts import ORDER

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress:
    """Shown on stderr, and only where that is a terminal."""

    def __init__(self, total: int) -> None:
        self._counts: Counter[str] = Counter()
        self._bar = _bar(total) if sys.stderr.isatty() else None

    def __enter__(self) -> Callable[[list[CaseResult | DecodeResult]], None]:
        if self._bar is not None:
            self._bar.start()
        return self.update

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, results: list[CaseResult | DecodeResult]) -> None:
        """Count results that ended; those of logits have no verdict."""
        if self._bar is None:
            return
        for result in results:
            if isinstance(result, CaseResult):
                self._counts.update(b.verdict for b in result.backends.values())
        counts = "  ".join(f"{self._counts[v]:,} {v}" for v in ORDER if self._counts[v])
        (task,) = self._bar.task_ids
        self._bar.update(task, advance=len(results), description=counts)


def _bar(total: int) -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
    )
    bar.add_task("", total=total)
    return bar
