"""The model of tests/support/fake_server.py as a backend."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import SequencesReply, SequencesRequest
from sampler_parity.programs.servers.oracle.decoder import ModelLogits
from sampler_parity.programs.servers.oracle.model import KnownModel
from tests.support.fake_server import TABLE, VOCAB, N
from tests.support.inside import Inside

PROMPTS = {"one": [5, 9, 20], "two": [7, 7, 31, 8], "three": [200]}


class Worker:
    def hello(self) -> p.HelloReply:
        return p.HelloReply(name="table", version="1", capabilities=["sequences"], samplers=[])

    def sequences(
        self, request: SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[SequencesReply, list[Result]]:
        text = request.texts[0]
        rows[:] = TABLE[[text.prompt[-1], *text.forced[:-1]]]
        return SequencesReply(tokens=text.forced, ns=0), []


def logits() -> ModelLogits:
    return ModelLogits(Inside(Worker()), Path("table"), N)


KNOWN = KnownModel(VOCAB, PROMPTS, logits)
