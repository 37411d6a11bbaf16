"""Show the progress of a run on stderr: one line on a terminal, else a line each ten seconds."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sampler_parity.harness.bundle.records import CaseResult, Result
from sampler_parity.harness.checks.context import ProgressCallback
from sampler_parity.harness.cli.output import print_line, warn
from sampler_parity.harness.processes.phase import name, wait
from sampler_parity.harness.rows import records
from sampler_parity.harness.run.eta import Pace, Work
from sampler_parity.harness.verdicts import ORDER

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

EVERY_S = 10.0  # a line where there is no terminal
_SOON_S = 0.1  # between two updates of the line


class Progress:
    """Count and show results. quiet: show nothing. verbose: print a line for each result."""

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        self.pace: Pace | None = None
        self._quiet, self._verbose = quiet, verbose
        self._verdicts: Counter[str] = Counter()
        self._bar: Bar | None = None
        self._shown_at = time.monotonic()
        self._turn = threading.Lock()  # a thread reports while a timing waits

    def __call__(self, works: list[Work]) -> "Progress":
        self.pace = Pace(works, time.monotonic())
        return self

    def __enter__(self) -> ProgressCallback:
        if not self._quiet and sys.stderr is not None and sys.stderr.isatty():
            assert self.pace is not None
            self._bar = _bar(self.pace.total)
            self._bar.start()
        return self.report

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def report(self, results: Sequence[Result], note: str = "") -> None:
        """Count finished results, and show the progress at intervals."""
        with self._turn:
            now = time.monotonic()
            assert self.pace is not None
            self.pace.ended(results, now)
            for result in results:
                if isinstance(result, CaseResult):
                    self._verdicts.update(b.verdict for b in result.backends.values())
            if self._verbose:
                for line in lines_of(results):
                    print_line(line)
            if now - self._shown_at >= (EVERY_S if self._bar is None else _SOON_S):
                self._shown_at = now
                self._show(note)

    def _show(self, note: str) -> None:
        assert self.pace is not None
        text = in_words(self.pace, self._verdicts, note)
        if self._bar is not None:
            (task,) = self._bar.task_ids
            self._bar.update(task, completed=self.pace.done, description=text)
            self._bar.refresh()
            wait(0)
        elif not self._quiet:
            warn(f"running  {text}")


def in_words(pace: Pace, verdicts: Counter[str], note: str = "") -> str:
    """Return "1,450 of 6,152 cases, about 2 min left, 3 diverged": the current kind, the time for
    all that is left, and the verdicts that are not identical."""
    note = note or name()
    if pace.under_way is None:
        return f"{pace.done:,} of {pace.total:,}, {note or 'ending'}"
    noun, finished, total = pace.under_way
    parts = [f"{finished:,} of {total:,} {noun}"]
    left = pace.seconds_left(time.monotonic())
    parts += [f"about {_duration(left)} left"] if left else []
    parts += [f"{verdicts[v]:,} {v}" for v in reversed(ORDER[1:]) if verdicts[v]]
    parts.append(note)
    return ", ".join(filter(None, parts))


def lines_of(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each result and backend, its verdict or decision first."""
    for result in results:
        yield from records()[result.kind].shown(result)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _bar(total: int) -> "Bar":
    """Make a bar that starts no thread, as the run forks processes."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    bar = Bar(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(bar_width=20),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
    )
    bar.add_task("", total=total)
    return bar
