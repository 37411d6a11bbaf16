"""A bundle of a backend, as a run makes it, without the processes of an executor."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.progress import unseen
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.run.shrinking import make_small, with_known
from sampler_parity.harness.verdicts import Accept
from tests.support.report_bundles import read_back, run_info


class Inline:
    """An executor that calls in this process, one after the other."""

    size = 1

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        for place, arguments in enumerate(calls):
            yield place, function(*arguments)


def judged(folder: Path, name: str, cases: Sequence[Case], accept: Accept) -> Bundle:
    """name: "mine=COMMAND". The cases judged, what fails made small and diagnosed."""
    by_id = {case.id: case for case in cases}
    info, here = run_info("mine"), cast(Pool, Inline())
    with closing(registry.start(name, 60.0)) as backend:
        results = [
            execute(case, [backend]).model_copy(update={"accept": accept, "suite": "parity"})
            for case in cases
        ]
    asked = (results, by_id, info, {name: None}, here)
    small = [*make_small(*asked, 60.0, 5.0, unseen)]
    known = [*with_known(small, results, by_id, {name: None}, here)]
    return read_back(folder, info, results, known)
