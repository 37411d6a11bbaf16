"""Stop asking a backend that fails alike in case after case.

Cases are counted as they end, for all processes of a run in a file of the folder `in-flight`. The
rest gets the same verdict, with a detail that begins with `NOT_RUN`; `--resume` runs it.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import NOT_RUN, outcome_of
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.context import Terms
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.files import read_file
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.run.crash_journal import FOLDER
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.printable import cut


class Streak:
    """The equal failures in a row of a backend: verdict, message and item of each. Without a folder
    in common, as on a cluster, those of a portion."""

    def __init__(self, terms: Terms, index: int) -> None:
        self._most = terms.in_a_row
        self._file = terms.in_flight / FOLDER / f"streak-{index}" if terms.in_flight else None
        self._alike: list[list[str]] = []

    def stop(self) -> BackendFailure | None:
        """Return the failure of each further item, if the backend is not to be asked any more."""
        self._read()
        if not self._most or len(self._alike) < self._most:
            return None
        verdict, problem, item = self._alike[0]
        why = f"{problem} in {self._most} cases in a row, the first of them {item}"
        return BackendFailure("timeout" if verdict == "timeout" else "crashed", NOT_RUN + why)

    def ended(self, name: str, result: Any) -> None:
        """Count the result of an item. Any other than an equal failure ends the streak."""
        verdict, detail = outcome_of(getattr(result, "backends", {}).get(name))
        if not self._most or verdict == "skipped" or self.stop():
            return
        required = getattr(result, "required", {}).get(name, ())
        streak: list[list[str]] = []
        if verdict in ("timeout", "crashed") and verdict not in required:
            failure = [verdict, detail.partition("\n")[0]]
            streak = [*(a for a in self._alike if a[:2] == failure), [*failure, result.id]]
        if self._file and streak != self._alike:
            with suppress(OSError):  # then it is not counted
                disk.write_whole(self._file, json.dumps(streak).encode())
        self._alike = streak

    def _read(self) -> None:
        if self._most and self._file and os.path.exists(self._file):
            with suppress(Exception):  # an adapter may have written anything there
                failures = json.loads(read_file(self._file, limits.MIB))
                self._alike = [[str(v), str(p), str(i)] for v, p, i in failures]


def stopped_lines(
    records: Iterable[Any], told: set[str], items: Sequence[CheckItem], info: RunInfo
) -> Iterator[str]:
    """Yield a line for each backend that is not asked any more, and add it to `told`."""
    from sampler_parity.harness.failures.format_difference import in_one_line  # few runs need it

    for name, got in (
        pair for record in records if record.unasked for pair in record.backends.items()
    ):
        why = outcome_of(got)[1]
        if why.startswith(NOT_RUN) and name not in told:
            told.add(name)
            first = why.rpartition(" ")[2]
            item = next((item for item in items if item.id == first), items[0])
            check = item.check.model_dump(exclude_unset=True, by_alias=True)
            chain = cut(in_one_line(check).partition(" on ")[0], 200)
            alone = (
                f"{replay(info, item.suite, item.id, [name])} --timeout {info.options['timeout']}"
            )
            yield (
                f"stopped  {name}: {why.removeprefix(NOT_RUN)} ({chain}). Its other cases are not"
                f" run: --resume runs them, and --keep-going does not stop. To repeat: {alone}"
            )
