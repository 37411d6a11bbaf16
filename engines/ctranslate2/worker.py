"""ctranslate2: CTranslate2's greedy search and random sampling on the CPU, on table models.

A chain is one stage of the same name, whose parameters are those of Generator.generate_batch; or
llama.cpp's penalties, top_k, temp, top_p in this order, which is CTranslate2's, then dist or
greedy. It returns the selected token only. engines/ctranslate2/README.md explains the parameters.

Every row of logits is a model of its own, loaded into the same generator: its thread keeps the
random numbers. If a penalty is on, the text is passed after a token 0 that no penalty reaches; the
sampler draws for each of its tokens, too. CTranslate2 has no window: the last penalty_last_n tokens
are its text.
"""

import importlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.ctranslate2 import table_model as table
from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.engines.shared.whole_chains import LAST, Row, RowWorker, stages_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "ctranslate2"
ORDER = ("penalties", "top_k", "temp", "top_p")
_AT_ONCE = 1024  # rows of a batch, each a draw


def _library() -> Any:
    return importlib.import_module(NAME)


def options_of(chain: ChainSpec) -> dict[str, Any]:
    """Return the parameters of generate_batch, seed and penalty_last_n. Raises Unsupported."""
    if len(chain) == 1 and NAME in chain[0]:
        return dict(chain[0][NAME])
    options: dict[str, Any] = {"sampling_topk": 0}
    for name, parameters in stages_of(chain, ORDER, "CTranslate2"):
        options |= _options(name, parameters)
    return options


def _options(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if name == "penalties":
        return {
            "repetition_penalty": float(parameters["penalty_repeat"]),
            "penalty_last_n": max(0, parameters["penalty_last_n"]),
        }
    if name == "top_k":
        return {"sampling_topk": parameters["k"]}
    if name == "temp":
        return {"sampling_temperature": float(parameters["temp"])}
    if name == "top_p":
        return {"sampling_topp": float(parameters["p"])}
    return {"seed": parameters["seed"]} if name == "dist" else {"sampling_topk": 1}


class Instance:
    """generator: its thread has the random numbers; its model is written into folder each time."""

    def __init__(self, chain: ChainSpec) -> None:
        self.stages = len(chain)
        self.options = options_of(chain)
        self.seed = self.options.pop("seed", ANY_SEED)
        self.last_n = self.options.pop("penalty_last_n", table.LONGEST_TEXT)
        penalty = self.options.get("repetition_penalty", 1.0) != 1
        self.reads_text = penalty or self.options.get("no_repeat_ngram_size", 0) > 0
        self.folder = tempfile.TemporaryDirectory()
        self.reset()

    def reset(self) -> None:
        self.text: list[int] = []
        self.generator: Any = None
        self.loaded: NDArray[np.float32] | None = None

    def accept(self, token: int) -> None:
        self.text.append(token)

    def clone(self) -> "Instance":
        raise Unsupported("CTranslate2's random numbers are a thread's, and cannot be copied")

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None and self.stages > 1:
            raise Unsupported("CTranslate2 shows no stage, only the token of all")
        row.token = self._tokens(row, 1)[0]

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        if uniforms is not None:
            raise Unsupported("takes no uniforms")
        batches = [_AT_ONCE] * (n // _AT_ONCE) + [n % _AT_ONCE] * (n % _AT_ONCE > 0)
        return np.array([token for m in batches for token in self._tokens(row, m)], np.int32)

    def _tokens(self, row: Row, n: int) -> list[int]:
        self._load(row.logits)
        text = self.text[max(0, len(self.text) - self.last_n) :] if self.reads_text else []
        if self.generator is None:
            self.generator = self._started()
        try:
            results = self.generator.generate_batch(
                [["0", *map(str, text)]] * n,
                max_length=len(text) + 1,
                return_end_token=True,
                **self.options,
            )
        except (ValueError, TypeError) as error:
            raise InputError(NAME, str(error).splitlines()[0]) from None
        return [int(result.sequences_ids[0][-1]) for result in results]

    def _load(self, logits: NDArray[np.float32]) -> None:
        if self.loaded is not None and np.array_equal(logits, self.loaded):
            return
        table.write(Path(self.folder.name), logits[np.newaxis])
        self.loaded = logits.copy()
        if self.generator is not None:
            while self.generator.model_is_loaded:  # it refuses while the last batch is cleared up
                self.generator.unload_model()
            self.generator.load_model()

    def _started(self) -> Any:
        """Start a generator with a thread of its own, which takes the seed at its first draw."""
        _library().set_random_seed(self.seed)
        return _library().Generator(
            self.folder.name, device="cpu", intra_threads=1, compute_type="float32"
        )


class Worker(RowWorker):
    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=f"CTranslate2 {_library().__version__}",
            capabilities=["run", "draws", "time"],
            samplers=[NAME, *ORDER, *LAST],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain)
