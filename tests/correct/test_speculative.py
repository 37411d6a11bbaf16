"""Speculative sampling is judged by its distribution, whose margin no rounding reaches."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.engines.correct import bfloat16, blocked, float64, worker
from sampler_parity.harness.backends.reference_speculative import speculate
from sampler_parity.harness.checks.distribution.block import Speculative
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand_kind, find_suites, read_suite
from tests.support.cells import decision

CELLS: list[Speculative] = [
    cell
    for path in find_suites(["speculative"])
    for cell in expand_kind("distribution", read_suite(path), "quick")
]


class Whole:
    """A chain as one object. without: the number of a stage to leave out."""

    def __init__(self, chain: Any, without: int | None) -> None:
        self.chain, self.accept, self.without = chain, chain.accept, without

    def apply(self, cand: Any) -> None:
        for stage in range(len(self.chain.chain.samplers)):
            if stage != self.without:
                self.chain.apply(stage, cand)


class Verifying(worker.Worker):
    """A correct engine that verifies drafts."""

    def __init__(self, of: worker.Worker, without: int | None = None) -> None:
        super().__init__(of.ops)
        self.without = without

    def hello(self) -> p.HelloReply:
        return super().hello().model_copy(update={"capabilities": ["run", "speculative"]})

    def speculate(self, request: p.SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        def fresh() -> Any:
            chain = self.build(request.chain, request.n_vocab, request.vocab)
            return Whole(chain, self.without)

        return speculate(fresh, request, rounds)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [bfloat16, blocked, float64])
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
def test_rounds_of_a_correct_engine_are_equivalent(cell: Speculative, engine: Any) -> None:
    """A known limit: 16 bits of p reject some of q = p, which counts as impossible."""
    same = ("rejection/same-model", "verifiers/bonus")
    limit = engine is bfloat16 and cell.id.endswith(same)
    made = InPlace("made", Verifying(engine.Worker()))
    assert decision(cell, made) == ("different" if limit else "equivalent")


@pytest.mark.parametrize("engine", [bfloat16, float64])
def test_rounds_without_a_filter_are_different(engine: Any) -> None:
    (cell,) = [cell for cell in CELLS if cell.id.endswith("rejection/filters-and-temperature")]
    made = InPlace("made", Verifying(engine.Worker(), without=0))
    assert decision(cell, made) == "different"
