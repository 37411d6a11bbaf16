"""Builds of llama.cpp that are up for release:
`python -m sampler_parity.maintenance.selftest.candidates NAME`.

For the dry run of a release (docs/background/releasing.md): one is llama.cpp as it is, the others
hold one fault each, planted between the protocol and the native sampler.
"""

import sys
from collections.abc import Callable
from typing import Any

from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol.serve import run_worker
from sampler_parity.maintenance.selftest import slow


class WrongPenalties(Worker):
    """penalty_freq and penalty_present change places on their way into `penalties`."""

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        if "penalties" in stage:
            parameters = stage["penalties"]
            freq, present = (
                parameters.get("penalty_freq", 0.0),
                parameters.get("penalty_present", 0.0),
            )
            stage = {"penalties": parameters | {"penalty_freq": present, "penalty_present": freq}}
        return super()._init(stage, n_vocab, vocab)


CANDIDATES: dict[str, Callable[[], Worker]] = {
    "clean": Worker,
    "wrong-penalties": WrongPenalties,
    "slower": lambda: slow.Worker("10"),  # every stage takes a tenth longer, the results are right
}


if __name__ == "__main__":
    run_worker(CANDIDATES[sys.argv[1]])
