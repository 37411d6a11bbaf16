"""`python -m studies.blind_batches`: the case that catches each fault of a list made blind.

The lists are in docs/results/blind-batches.md: studies/blind_batches.toml, and with the argument
`again`, `third`, `fourth` or `fifth` studies/blind_batches_again.toml, _third.toml, _fourth.toml or
_fifth.toml.

Runs each fault over the quick profile of the batch or speculative suites until a case fails, and
prints a line. Further arguments are numbers of faults; all by default.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.faults.catalogue import read_faults
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.harness.protocol.in_place import InPlace
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite.file import expand, expand_kind, find_suites, read_suite

HERE = Path(__file__).parent
LISTS = {
    "first": HERE / "blind_batches.toml",
    "again": HERE / "blind_batches_again.toml",
    "third": HERE / "blind_batches_third.toml",
    "fourth": HERE / "blind_batches_fourth.toml",
    "fifth": HERE / "blind_batches_fifth.toml",
}
SUITES = {
    "batch": ["batch", "origin/batches", "properties/batch_rows"],
    "speculative": ["speculative"],
}


def cases_of(area: str) -> Iterator[Case]:
    """Yield the quick cases of an area that are compared with the reference or by relations."""
    for path in find_suites(SUITES[area]):
        yield from expand(path, "quick")


def cells_of(area: str) -> list[Any]:
    """Return the quick distribution tests of an area."""
    paths = find_suites(SUITES[area])
    return [
        cell for path in paths for cell in expand_kind("distribution", read_suite(path), "quick")
    ]


def worker_of(fault: Mutant) -> Worker:
    """Return the reference with the fault in it."""
    worker = Worker()
    if fault.sampler == "batch":
        vars(worker)["serving"] = fault.make
    else:
        vars(worker)["speculate"] = lambda request, given: fault.make(
            lambda: worker.build(request.chain, request.n_vocab, request.vocab).chain,
            request,
            given,
        )
    return worker


def caught_by(fault: Mutant) -> str:
    """Return the first case that fails, with its stage and detail; "" if there is none."""
    backend = InPlace("made", worker_of(fault))
    try:
        for case in cases_of(fault.sampler):
            result = execute(case, [backend])
            if not result.met("made"):
                got = result.backends["made"]
                return f"{case.id}  {got.verdict} {got.stage} {got.detail}"
        cells = cells_of(fault.sampler)
        for cell in cells:
            decided = execute_cell(cell, [backend], Budget(tests=len(cells)).each).backends["made"]
            if decided.decision != "equivalent":
                return f"{cell.id}  {decided.decision} {decided.detail}"
    finally:
        backend.close()
    return ""


def main(arguments: list[str]) -> int:
    named = arguments[:1] if arguments[:1] and arguments[0] in LISTS else ["first"]
    numbers = [int(argument) for argument in arguments if argument not in LISTS]
    faults = dict(enumerate(read_faults(LISTS[named[0]]), start=1))
    escaped = 0
    for number in numbers or faults:
        start = time.perf_counter()
        case = caught_by(faults[number])
        escaped += not case
        seconds = time.perf_counter() - start
        print(
            f"{number:>2} {faults[number].name:<44} {case or 'ESCAPED'} {seconds:.1f} s", flush=True
        )
    print(f"{len(numbers or faults) - escaped} caught, {escaped} escaped")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
