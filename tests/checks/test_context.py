"""The observer of a run gets every result of every kind, and heartbeats in between."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks import context as watched
from sampler_parity.harness.checks import throughput as throughput
from sampler_parity.harness.checks.context import heartbeat
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.timed_records import ThroughputResult
from sampler_parity.harness.checks.timing.rounds import RoundPlan
from sampler_parity.harness.run.eta import Pace, Work
from sampler_parity.harness.run.plan import RunOptions, plan_of
from sampler_parity.harness.run.run import run
from tests.support.context import context_of
from tests.support.report_bundles import run_info

SUITE = """
name = "a timed chain"
[[chain]]
id = "c"
sampler = "greedy"
chain = [{ greedy = {} }]
logits = { family = "normal", n = 8 }
"""


class Watcher:
    """Keeps all that is reported to it."""

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


@pytest.mark.slow
def test_a_run_is_watched_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SUITE)
    watcher = Watcher()
    plan = plan_of(RunOptions([str(tmp_path / "s.toml")], ["null"], rounds=8, jobs=1))
    run(plan, tmp_path / "b", False, watcher.watch, print)
    assert [result.id for result in watcher.ended] == ["timing/c"]
    assert watcher.notes == [f"round {n} of 8" for n in range(9)]  # the first warms up
    pace = Pace(watcher.works, 0.0)
    assert (pace.done, pace.total) == (0, 1)
    pace.ended(watcher.ended, 1.0)
    assert pace.under_way is None


def test_the_observer_gets_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "BEAT_S", 0.001)
    reported: list[int] = []
    with heartbeat(lambda results, note="": reported.append(len(results))):
        while len(reported) < 3:
            time.sleep(0.001)
    before = len(reported)
    time.sleep(0.01)
    assert reported == [0] * before


def test_widths_are_shown_with_their_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(width: Any, backends: Any, rounds: RoundPlan) -> Any:
        assert [*rounds.turns()] == [*range(7)]
        sizes = {"n_vocab": 2, "stages": 1, "sequences": 1, "n_prompt": 1, "n_tokens": 1}
        fields: dict[str, Any] = {"id": width.id, "model": "m", "chain": "c", "baseline": "null"}
        fields["backends"] = {"null": {}}
        return ThroughputResult.model_validate(fields | sizes)

    monkeypatch.setattr(throughput, "decode_width", measured)
    watcher, writer = Watcher(), create(tmp_path / "b", run_info("null"))
    width: Any = SimpleNamespace(id="w", check="throughput")
    throughput.measure([CheckItem("s", width)], context_of(writer, ["null"], progress=watcher))
    assert [result.id for result in watcher.ended] == ["w"]
    assert watcher.notes == [f"round {n} of 6" for n in range(7)]
