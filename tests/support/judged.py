"""A bundle of a backend, as a run makes it, without the processes of an executor."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.run.shrinking import minimize, with_known
from sampler_parity.harness.verdicts import Accept
from tests.support.context import context_of
from tests.support.report_bundles import read_back, run_info


class Inline:
    """An executor that calls in this process, one after the other."""

    size = 1

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        for place, arguments in enumerate(calls):
            yield place, function(*arguments)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


def judged(folder: Path, name: str, cases: Sequence[Case], accept: Accept) -> Bundle:
    """Judge the cases, then minimize and diagnose the failures. name: "mine=COMMAND"."""
    by_id = {case.id: case for case in cases}
    info, here = run_info("mine"), Inline()
    with closing(registry.start(name, 60.0)) as backend:
        results = [
            execute(case, [backend]).model_copy(update={"accept": accept, "suite": "parity"})
            for case in cases
        ]
    context = context_of(create(folder / "judged", info), [name], here)
    small = [*minimize(results, by_id, context)]
    known = [*with_known(small, results, by_id, context)]
    return read_back(folder, info, results, known)
