"""tinygrad: the sampler in `Transformer.forward`, as generate calls it (README.md).

A Transformer without layers gets the row in place of the token's embedding, so that its logits are
the row. It is called through its own TinyJit. Before each token an instance puts its key and its
counter into tinygrad's random state, and reads the counter behind it. Only the token is shown.
"""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.shared.whole_chains import LAST, Row, RowWorker, stages_of
from sampler_parity.engines.tinygrad.engine import Device, model_of, tinygrad
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "tinygrad"


def options_of(chain: ChainSpec) -> tuple[int, float]:
    """Return seed and temperature. A temperature that is not named is 1 before dist."""
    if len(chain) == 1 and NAME in chain[0]:
        given = chain[0][NAME]
        return given["seed"], given.get("temperature", 0.0)
    stages = dict(stages_of(chain, ("temp",), NAME))
    temperature = stages.get("temp", {"temp": 1.0})["temp"]
    if "greedy" in stages:
        return 0, 0.0
    return stages["dist"]["seed"], temperature


class Instance:
    def __init__(self, worker: "Worker", chain: ChainSpec, n_vocab: int) -> None:
        self.worker, self.chain, self.n_vocab = worker, chain, n_vocab
        self.seed, self.temperature = options_of(chain)
        self.reset()

    def reset(self) -> None:
        self.count = 0

    def accept(self, token: int) -> None:
        """Do nothing: the sampler has no history."""

    def clone(self) -> "Instance":
        twin = Instance(self.worker, self.chain, self.n_vocab)
        twin.count = self.count
        return twin

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None and len(self.chain) > 1:
            raise Unsupported("tinygrad shows no stage, only the token of all")
        row.token = int(self.draw(row, 1, None)[0])

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        no_uniforms(uniforms, NAME)
        device, tensor = self.worker.device, tinygrad().Tensor
        model = model_of(self.n_vocab)
        logits = tensor(row.logits.reshape(1, 1, -1)).realize()
        temperature = tensor([self.temperature])
        device.put(self.seed, self.count)
        tokens = [int(model(logits, 0, temperature).realize().item()) for _ in range(n)]
        self.count = device.count()
        return np.array(tokens, np.int32)


class Worker(RowWorker):
    def __init__(self) -> None:
        self.device = Device()

    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=tinygrad().version,
            capabilities=["run", "draws", "time"],
            samplers=[NAME, "temp", *LAST],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(self, chain, n_vocab)
