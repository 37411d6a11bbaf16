"""gpt4all: GPT4All.generate on the CPU, on table models.

A chain is one stage of the same name, whose parameters are those of generate; or llama.cpp's
penalties, top_k, top_p, min_p, temp in this order, which is gpt4all's, then dist or greedy. It
returns the selected token only. engines/gpt4all/README.md explains the parameters.

If a penalty is on, the text is passed after a token 0 that no penalty reaches.
"""

import importlib
import secrets
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.gpt4all.mapped_model import LONGEST_TEXT, Model, Numbers
from sampler_parity.engines.shared.stage_parameters import ANY_SEED, no_uniforms
from sampler_parity.engines.shared.whole_chains import LAST, Row, RowWorker, stages_of
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "gpt4all"
ORDER = ("penalties", "top_k", "top_p", "min_p", "temp")
_OFF = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temp": 1.0, "repeat_penalty": 1.0}
_AT_ONCE = 1024  # tokens of a call, each a draw
_MODELS = 4  # its ggml holds 64 of its contexts; one here takes three


def options_of(chain: ChainSpec) -> dict[str, Any]:
    """Return the parameters of generate, and seed. Raises Unsupported."""
    if len(chain) == 1 and NAME in chain[0]:
        return dict(chain[0][NAME])
    options: dict[str, Any] = dict(_OFF)
    for name, given in stages_of(chain, ORDER, NAME):
        options |= _options(name, given)
    return options


def _options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    if name == "penalties":
        last_n = max(0, given["penalty_last_n"])
        return {"repeat_penalty": given["penalty_repeat"], "repeat_last_n": last_n}
    if name == "dist":
        return {"seed": given["seed"]}
    if name == "greedy":
        return {"temp": 0.0}
    return {name: given[{"top_k": "k", "temp": "temp"}.get(name, "p")]}


class Instance:
    def __init__(self, worker: "Worker", chain: ChainSpec, n_vocab: int) -> None:
        self.worker, self.chain, self.n_vocab = worker, chain, n_vocab
        self.options = options_of(chain)
        self.seed = self.options.pop("seed", ANY_SEED)
        self.last_n = self.options.pop("repeat_last_n", 64)
        self.reads_text = self.options.get("repeat_penalty", 1.18) != 1
        if not 0 <= self.last_n < LONGEST_TEXT:
            raise Unsupported(f"repeat_last_n here is 0 to {LONGEST_TEXT - 1}")
        self.reset()

    def reset(self) -> None:
        self.text: list[int] = []
        self.numbers = Numbers(secrets.randbits(32) if self.seed == ANY_SEED else self.seed)

    def accept(self, token: int) -> None:
        self.text.append(token)

    def clone(self) -> "Instance":
        twin = Instance(self.worker, self.chain, self.n_vocab)
        self.worker.model(self.n_vocab).draw_from(None)
        twin.text, twin.numbers.text = self.text.copy(), self.numbers.text
        return twin

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None and len(self.chain) > 1:
            raise Unsupported("gpt4all shows no stage, only the token of all")
        row.token = self._tokens(row, 1)[0]

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        no_uniforms(uniforms, NAME)
        at_once = 1 if self.reads_text else _AT_ONCE
        batches = [min(at_once, n - i) for i in range(0, n, at_once)]
        return np.array([token for m in batches for token in self._tokens(row, m)], np.int32)

    def _tokens(self, row: Row, n: int) -> list[int]:
        last_n = min(self.last_n, len(self.text)) if self.reads_text else 0
        text = [0, *self.text[len(self.text) - last_n :]]
        of = {"repeat_last_n": last_n, **self.options}
        return self.worker.model(self.n_vocab).tokens(row.logits, text, self.numbers, n, **of)


class Worker(RowWorker):
    def __init__(self) -> None:
        try:
            self.package = importlib.import_module(NAME)
        except ImportError:
            raise Unsupported("gpt4all is not installed") from None
        self.models: dict[int, Model] = {}

    def model(self, n_vocab: int) -> Model:
        if n_vocab not in self.models:
            if len(self.models) == _MODELS:
                self.models.pop(next(iter(self.models))).draw_from(None)
            self.models[n_vocab] = Model(self.package, n_vocab)
        return self.models[n_vocab]

    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=f"{NAME} {version(NAME)}",
            capabilities=["run", "draws", "time"],
            samplers=[NAME, *ORDER, *LAST],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(self, chain, n_vocab)
