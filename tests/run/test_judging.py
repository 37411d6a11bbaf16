"""A process that dies affects only the case that ended it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.run.judging import judge
from tests.support.cases import stages
from tests.support.context import context_of
from tests.support.report_bundles import case as case_result
from tests.support.report_bundles import got, run_info


def case(name: str) -> CheckItem:
    return CheckItem("suite", stages([{"greedy": {}}], [0.0, 1.0], id=name))


class Deadly:
    """An executor whose processes die of one case, and of any case of the first chunk."""

    def __init__(self, guilty: str) -> None:
        self.guilty, self.calls = guilty, list[list[str]]()

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        for place, (portion, *_) in enumerate(calls):
            ids = [item.id for item in portion]
            self.calls.append(ids)
            if self.guilty in ids or len(self.calls) == 1:
                yield place, Died("signal SIGBUS")
            else:
                yield place, [case_result(i, {"null": got()}) for i in ids]


def test_chunk_whose_process_dies_is_run_case_by_case(tmp_path: Path) -> None:
    writer = create(tmp_path / "b", run_info("null"))
    executor, seen = Deadly("112"), list[str]()
    cases = [case(str(number)) for number in range(130)]

    def progress(results: Sequence[Result], note: str = "") -> None:
        seen.extend(result.id for result in results)

    judge(cases, context_of(writer, ["null"], executor, progress))

    results = bundle.read(tmp_path / "b").cases
    verdicts = {r.id: r.backends["null"].verdict for r in results}
    assert sorted(seen) == sorted(verdicts) == sorted(str(number) for number in range(130))
    assert [i for i, verdict in verdicts.items() if verdict != "identical"] == ["112"]
    (guilty,) = (r for r in results if r.id == "112")
    assert guilty.backends["null"].detail == "the process that judged it died: signal SIGBUS"
    assert (guilty.suite, guilty.ok, guilty.required["null"]) == ("suite", False, ["identical"])
    assert [len(ids) for ids in executor.calls] == [1, 9, 50, 50, 20] + [1] * 21
