"""Who watches a run is told of every result of every kind, and that it goes on meanwhile."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import Result
from sampler_parity.harness.bundle.records.throughput import ThroughputResult
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.run import seen, timing
from sampler_parity.harness.run.pace import Pace, Work
from sampler_parity.harness.run.plan import Asked, plan_of
from sampler_parity.harness.run.run import run
from sampler_parity.harness.run.seen import beating
from tests.support.report_bundles import run_info

SUITE = """
name = "one of each"
[[case]]
id = "a"
description = "a fact"
why = "w"
chain = [{ greedy = {} }]
logits = { values = [1.0, 2.0] }
requires = { null = ["diverged", "unsupported"] }
[[coupled]]
id = "b"
description = "a fact"
why = "w"
chain = [{ dist = { seed = 1 } }]
logits = { values = [1.0, 2.0] }
margin = 0.5
[[chain]]
id = "c"
sampler = "greedy"
chain = [{ greedy = {} }]
logits = { family = "normal", n = 8 }
"""


class Watcher:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.works: list[Work] = []
        self.ended: list[Result] = []
        self.notes: list[str] = []

    def __call__(self, results: Sequence[Result], note: str = "") -> None:
        self.ended += results
        self.notes += [note] if note else []

    @contextmanager
    def watch(self, works: list[Work]) -> Iterator["Watcher"]:
        self.works = works
        yield self


class Here(Pool):
    """Calls one after the other, in this process."""

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        for place, arguments in enumerate(calls):
            yield place, function(*arguments)


@pytest.mark.slow
def test_a_run_is_watched_to_its_end_over_all_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sampler_parity.harness.run.run.Pool", Here)
    (tmp_path / "s.toml").write_text(SUITE)
    watcher = Watcher()
    plan = plan_of(Asked([str(tmp_path / "s.toml")], ["null"], rounds=8, jobs=1))
    run(plan, tmp_path / "b", False, watcher.watch, print)
    assert [result.id for result in watcher.ended] == ["s/a", "s/b", "timing/c"]
    assert watcher.notes == [f"round {n} of 8" for n in range(9)]  # the first warms up
    pace = Pace(watcher.works, 0.0)
    assert (pace.done, pace.total) == (0, 3)
    pace.ended(watcher.ended, 1.0)
    assert pace.under_way is None


def test_widths_are_seen_with_their_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(width: Any, backends: Any, n: int, seed: int, again: Any, begins: Any) -> Any:
        begins(n, n)
        sizes = {"n_vocab": 2, "stages": 1, "sequences": 1, "n_prompt": 1, "n_tokens": 1}
        fields = {"id": width.id, "model": "m", "chain": "c", "baseline": "null", "backends": {}}
        return ThroughputResult.model_validate(fields | sizes)

    monkeypatch.setattr("sampler_parity.harness.timing.throughput.measure", measure)
    watcher, writer = Watcher(), create(tmp_path / "b", run_info("null"))
    width: Any = SimpleNamespace(id="w")
    timing.decode_widths([("s", width)], ["null"], 6, writer, 0, 60.0, watcher)
    assert ([result.id for result in watcher.ended], watcher.notes) == (["w"], ["round 6 of 6"])


def test_who_watches_is_told_each_beat_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "BEAT_S", 0.001)
    told: list[int] = []
    with beating(lambda results, note="": told.append(len(results))):
        while len(told) < 3:
            time.sleep(0.001)
    before = len(told)
    time.sleep(0.01)
    assert told == [0] * before


def test_a_pool_tells_that_it_waits_where_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sampler_parity.harness.processes.pool._LOOK_S", 0.01)
    told: list[float] = []
    with Pool(1, 1) as pool:
        pool.waiting = lambda: told.append(time.monotonic())
        pool.call(time.sleep, 0.1)
    assert told
