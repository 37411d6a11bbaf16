"""A stage that writes into its row of logits: it is named, not the stage that shows it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.reference import Candidates
from tests.support.cases import stages
from tests.support.inside import last_result_of

CHAIN: list[Any] = [{"top_k": {"k": 3}}, {"temp": {"temp": 0.5}}, {"dist": {"seed": 1}}]


class WritingTemp(Worker):
    """temp halves the caller's row, and is right otherwise. writes: whether it does."""

    def __init__(self, writes: bool) -> None:
        super().__init__()
        self.writes = writes

    def candidates(self, logits: NDArray[np.float32]) -> Candidates:
        self.row = logits
        return super().candidates(logits)

    def build(self, *arguments: Any) -> Any:
        instance = super().build(*arguments)
        for sampler in instance.chain.samplers:
            if sampler.name == "temp":
                vars(sampler)["apply"] = lambda cand, right=sampler.apply: self._apply(right, cand)
            elif sampler.name == "top_k" and not self.writes:
                vars(sampler)["k"] = 2
        return instance

    def _apply(self, right: Any, cand: Candidates) -> None:
        right(cand)
        if self.writes:
            self.row *= np.float32(0.5)


def judged(writes: bool, script: str, steps: int) -> BackendResult:
    logits = {"family": "normal", "n": 8, "seed": 1}
    case = stages(CHAIN, logits, steps=steps, script=script)
    return last_result_of(case, InPlace("mine", WritingTemp(writes)))


def test_the_stage_that_writes_is_named_where_a_later_step_samples_the_row_again() -> None:
    result = judged(writes=True, script="reset", steps=4)
    assert (result.verdict, result.step) == ("diverged", 2)
    assert (result.stage, result.stage_index, result.what) == ("temp", 1, "")
    assert result.detail == "it writes into its row of logits, which a later step samples again"


def test_rows_that_are_sampled_once_show_nothing() -> None:
    assert judged(writes=True, script="plain", steps=4).verdict == "identical"


def test_a_wrong_stage_that_writes_nothing_stays_where_it_differs() -> None:
    result = judged(writes=False, script="reset", steps=4)
    assert (result.verdict, result.step, result.stage) == ("diverged", 0, "top_k")
