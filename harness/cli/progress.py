"""The progress bar of a run: cases done, and how many of each verdict."""

import sys
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.bundle.records.decode import DecodeResult
from sampler_parity.harness.verdicts import ORDER


class Progress:
    """Shown on stderr, and only where that is a terminal."""

    def __init__(self, total: int) -> None:
        self._counts: Counter[str] = Counter()
        self._bar = RichProgress(
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Callable[[list[CaseResult | DecodeResult]], None]:
        self._bar.start()
        return self.update

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def update(self, results: list[CaseResult | DecodeResult]) -> None:
        """Count results that ended; those of logits have no verdict."""
        for result in results:
            if isinstance(result, DecodeResult):
                continue
            self._counts.update(b.verdict for b in result.backends.values())
        counts = "  ".join(f"{self._counts[v]:,} {v}" for v in ORDER if self._counts[v])
        self._bar.update(self._task, advance=len(results), description=counts)
