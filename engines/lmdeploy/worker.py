"""lmdeploy: its sampler for the engine on PyTorch, Triton's kernels in the interpreter (README.md).

Readings: a stage shows the result of a request with the parameters of the chain up to it. Banned
tokens are -inf; behind a cut under llama.cpp's name the removed are left out. The p shown is 0
except at top_p, before the cut, and at a draw. lmdeploy_sample shows the logits before its
temperature. It draws at the position of the last token, so a repeated draw is the same. A repeated
draw of dist without a token between is at the next position.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.lmdeploy.package import lmdeploy
from sampler_parity.engines.lmdeploy.requests import SLOTS, Request, later
from sampler_parity.engines.lmdeploy.shown import launch, sampled
from sampler_parity.engines.shared import launches, torch_cpu
from sampler_parity.engines.shared.launches import Row, RowWorker
from sampler_parity.engines.shared.past import Past
from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.shared.triton_files import Edit
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result

ROWS_OF_DRAWS = 512


class Instance:
    """One request, alone in its batch. ahead: positions of draws behind the last token."""

    def __init__(self, engine: SimpleNamespace, request: Request, ahead: int = 0) -> None:
        self.engine, self.request, self.ahead = engine, request, ahead

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is None and "dist" in self.request.names:
            row.token = int(self.draw(row, 1, None)[0])
        elif stage is None:
            token, _ = sampled(self.engine, [self.request], row.logits[None], stages=False)[0]
            row.token = token if self.request.selects else -1
        elif stage == 0:
            row.results = sampled(self.engine, [self.request], row.logits[None])[0][1]
        if stage is not None:
            row.at = stage

    def accept(self, token: int) -> None:
        self.request.past.output.append(token)
        self.ahead = max(self.ahead - 1, 0)

    def accept_prompt(self, token: int) -> None:
        self.request.past.prompt.append(token)

    def reset(self) -> None:
        self.request.past.clear()
        self.ahead = 0

    def clone(self) -> "Instance":
        return Instance(self.engine, self.request.copy(), self.ahead)

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """Draw n tokens, as n rows of one request at successive positions."""
        no_uniforms(uniforms, "lmdeploy")
        tokens = np.empty(n, np.int32)
        for first in range(0, n, ROWS_OF_DRAWS):
            last = min(first + ROWS_OF_DRAWS, n)
            rows = np.tile(row.logits, (last - first, 1))
            sequences = list(later(self.request, self.ahead + first, self.ahead + last))
            tokens[first:last] = launch(self.engine, sequences, rows).tokens
        self.ahead += n
        return tokens


class Serving(launches.Serving):
    def request_of(self, sequence: p.BatchSequence) -> Request:
        past = Past(list(sequence.prompt), list(sequence.output))
        return Request.of(self.worker.engine, sequence.chain, past)

    def sampled(
        self, requests: list[Any], rows: NDArray[np.float32], stages: bool
    ) -> list[tuple[int, list[Result]]]:
        return sampled(self.worker.engine, requests, rows, stages)


class Worker(RowWorker):
    """edits: of the text of lmdeploy's files (package.py)."""

    name = "lmdeploy"
    edits: tuple[Edit, ...] = ()
    serving: type[Serving] = Serving

    @property
    def engine(self) -> SimpleNamespace:
        return lmdeploy(self.edits)

    def hello(self) -> p.HelloReply:
        return p.HelloReply(
            name=self.name,
            version=self.engine.version,
            capabilities=["run", "draws", "time", "origin"],
            samplers=list(SLOTS),
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(self.engine, Request.of(self.engine, chain, Past()))
