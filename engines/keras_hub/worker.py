"""keras_hub: KerasHub's samplers on the NumPy backend of Keras (engines/keras_hub/README.md).

Each runs as a model's generate calls it, `sampler(next, prompt, index=0)`, with a `next` that
answers every token with the row. p is the argument of NumPy's choice, at the ids that its top_k
took. An instance has a sampler and a seed generator of its own. greedy is GreedySampler.
"""

import importlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import numpy as np

from sampler_parity.engines.shared.import_stubs import stand_in_for, without_init
from sampler_parity.engines.shared.staged import Staged
from sampler_parity.engines.shared.whole_chains import Row, RowWorker
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

SAMPLERS = ["greedy", "keras_hub_random", "keras_hub_top_k", "keras_hub_top_p"]
NEVER_CALLED = ["absl", "h5py", "jax", "rich", "scipy", "tensorflow", "tensorflow_text", "torch"]


@cache
def keras_hub() -> SimpleNamespace:
    """Import KerasHub's samplers, without its models. Raises Unsupported if not installed."""
    os.environ["KERAS_BACKEND"] = "numpy"
    os.environ["KERAS_HOME"] = tempfile.gettempdir()  # it reads, and may write, a keras.json
    stand_in_for(NEVER_CALLED)
    try:
        without_init("keras_hub")
        samplers = importlib.import_module("keras_hub.src.samplers.serialization")
        ops = importlib.import_module("keras.ops")
        label = f"keras-hub {version('keras-hub')}, keras {version('keras')} on numpy"
    except ImportError as error:
        raise Unsupported(f"KerasHub does not load: {error}") from None
    return SimpleNamespace(samplers=samplers, ops=ops, version=f"{label} {np.__version__}")


class Stage:
    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        samplers = keras_hub().samplers
        made = {
            "greedy": samplers.GreedySampler,
            "keras_hub_random": samplers.RandomSampler,
            "keras_hub_top_k": samplers.TopKSampler,
            "keras_hub_top_p": samplers.TopPSampler,
        }
        if name not in made:
            raise Unsupported(f"KerasHub has no {name} by itself")
        self.sampler = made[name](**parameters)
        self.parameters = parameters

    def reset(self) -> None:
        for state in self.sampler.variables:
            state.assign([self.parameters["seed"], 0])

    def draw_as(self, other: "Stage") -> None:
        for state, its in zip(self.sampler.variables, other.sampler.variables, strict=True):
            state.assign(its)

    def apply(self, row: Row, tokens: list[int], n_prompt: int) -> None:
        with shown(row):
            row.token = self.draws(row, 1)[0]

    def draws(self, row: Row, n: int) -> list[int]:
        """Generate a text of n tokens, none of them the prompt's."""
        logits = row.logits[None]

        def model(prompt: Any, cache: Any, index: Any) -> tuple[Any, None, Any]:
            return logits, None, cache

        text = self.sampler(model, np.zeros((1, n), np.int32), index=0)
        return [int(token) for token in text[0]]


@contextmanager
def shown(row: Row) -> Iterator[None]:
    """Record as the row's p what a sampler passes to NumPy's choice."""
    ops, generator = keras_hub().ops, np.random.default_rng
    numpy: Any = np.random
    original, taken = ops.top_k, [np.arange(len(row.logits))]

    def top_k(x: Any, *arguments: Any, **options: Any) -> Any:
        values, ids = original(x, *arguments, **options)
        taken.append(ids[0])
        return values, ids

    class Recorder:
        def __init__(self, seed: Any) -> None:
            self.generator = generator(seed)

        def choice(self, classes: Any, size: int, p: Any) -> Any:
            row.p[taken[-1]] = p
            return self.generator.choice(classes, size=size, p=p)

    ops.top_k, numpy.default_rng = top_k, Recorder
    try:
        yield
    finally:
        ops.top_k, numpy.default_rng = original, generator


class Worker(RowWorker):
    def hello(self) -> HelloReply:
        return HelloReply(
            name="keras_hub",
            version=keras_hub().version,
            capabilities=["run", "draws", "time"],
            samplers=SAMPLERS,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Staged:
        return Staged(chain, Stage, "KerasHub", (ValueError, TypeError, OverflowError))
