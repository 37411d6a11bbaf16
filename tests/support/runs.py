"""The cases of a suite made concrete, and what a run of one shows."""

from typing import Any

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.protocol.client import Ran
from sampler_parity.harness.suite.file import expand, find_suites


def cases(name: str) -> list[Prepared]:
    every = expand(find_suites([name])[0], "quick")
    return [prepare(case) for case in every if isinstance(case, StagesCase) and not case.n_draws]


def shown(ran: Ran | str) -> list[Any]:
    if isinstance(ran, str):
        return [ran]
    stages = [
        (got.ids.tobytes(), got.logits.tobytes(), got.p.tobytes(), got.sorted, got.selected)
        for each in ran.stages
        for got in each
    ]
    return [ran.tokens, stages]
