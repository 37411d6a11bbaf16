"""transformers: Hugging Face's logits processors on the CPU (the extra `transformers`).

A stage is the processor that `generate` makes of the same parameters, called on the scores of the
whole vocabulary. The stages dist and greedy are the multinomial and the argmax that end `generate`.
engines/transformers/README.md maps the parameters and lists those without counterpart.

The stages transformers_* are processors under their own names and parameters, which use the prompt
(engines/transformers/model); they list the whole vocabulary, banned tokens too.

Readings: elsewhere a score of -inf is a removed candidate. A mask has no order, so candidates are
listed in llama.cpp's order: by id, after top_k and top_p the largest first, after typical_p the
nearest to the entropy first, equal ones by id. The p shown is that of the last softmax before a
cut, or 0, as llama.cpp keeps it.
"""

import importlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import reported, torch_cpu
from sampler_parity.engines.shared.masked import Row
from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.engines.shared.staged import Staged
from sampler_parity.engines.shared.verifiers import Pairs, speculate
from sampler_parity.engines.transformers.processors import (
    OWN,
    SAMPLERS,
    Processor,
    own_processor,
    processor_of,
)
from sampler_parity.engines.transformers.reporting import MODES, report
from sampler_parity.engines.transformers.verifier import verifier
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.interface import Result, Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply, SpeculativeRequest


@cache
def _libraries() -> tuple[Any, Any]:
    """Import torch and transformers. Raises Unsupported if they are not installed."""
    try:
        torch = importlib.import_module("torch")
        transformers = importlib.import_module("transformers")
    except ImportError:
        extra = "pip install sampler-parity[transformers]"
        raise Unsupported(f"transformers or torch is not installed: {extra}") from None
    torch.set_num_threads(1)
    return torch, transformers


class Stage:
    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        self.name, self.parameters = name, parameters
        self.processor: Any = None
        self.generator: Any = None
        wanted = (
            own_processor(name, parameters, 0) if name in OWN else processor_of(name, parameters)
        )
        self.make(wanted)
        self.reset()

    def make(self, wanted: Processor | None) -> None:
        if wanted is not None:
            of_class, arguments = wanted
            try:
                self.processor = getattr(_libraries()[1], of_class)(**arguments)
            except ValueError as error:
                raise InputError(of_class, str(error)) from None

    def reset(self) -> None:
        if self.name == "dist":
            seed = self.parameters["seed"]
            self.generator = _libraries()[0].Generator()
            self.generator.manual_seed(seed) if seed != ANY_SEED else self.generator.seed()

    def apply(self, row: Row, tokens: list[int], n_prompt: int) -> None:
        row.whole = row.whole or self.name in OWN
        try:
            if self.name == "transformers_min_new_tokens":
                self.make(own_processor(self.name, self.parameters, n_prompt))
            if self.name == "greedy":
                row.token = int(row.scores.argmax(-1))
            elif self.name == "dist":
                row.p = row.scores.softmax(-1)
                row.token = self.draw(row.p)
            elif self.processor is not None:
                self._process(row, tokens[-self.parameters.get("penalty_last_n", 0) :])
        except (ValueError, RuntimeError, IndexError) as error:
            raise InputError(self.name, str(error)) from None

    def _process(self, row: Row, tokens: list[int]) -> None:
        torch, _ = _libraries()
        before = row.scores
        row.scores = self.processor(torch.tensor([tokens], dtype=torch.long), before)
        if self.name in ("top_p", "typical_p"):
            row.p = before.softmax(-1)
        if self.name in ("top_k", "top_p"):
            row.order = -before
        elif self.name == "typical_p":
            surprisal = -before.log_softmax(-1)
            row.order = (surprisal - (surprisal * row.p).nansum(-1, keepdim=True)).abs()

    def draws(self, row: Row, n: int) -> list[int]:
        """Draw one by one, as `generate` does: several at once are drawn in another way."""
        self.apply(row, [], 0)
        rest = (self.draw(row.p) if self.name == "dist" else row.token for _ in range(n - 1))
        return [row.token, *rest]

    def draw_as(self, other: "Stage") -> None:
        if other.generator is not None:
            self.generator.set_state(other.generator.get_state())

    def draw(self, p: Any) -> int:
        return int(_libraries()[0].multinomial(p, 1, generator=self.generator))


class Worker:
    edits: Pairs = ()  # of the verifier's text

    def hello(self) -> HelloReply:
        torch, transformers = _libraries()
        return HelloReply(
            name="transformers",
            version=f"transformers {transformers.__version__}, torch {torch.__version__}",
            capabilities=["run", "draws", "time", "origin", "speculative"],
            samplers=[*SAMPLERS, *OWN, *reported.stages(MODES)],
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Staged:
        chain, mode, top = reported.parted(chain)
        if not mode:
            return Staged(chain, Stage, "transformers")
        return reported.Reporting(
            chain,
            Stage,
            "transformers",
            lambda row, tokens: report(chain, row.logits, tokens, mode, top),
        )

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        torch, _ = _libraries()
        return Row(torch.tensor(logits).unsqueeze(0), torch)

    def result(self, row: Row) -> Result:
        return row.result()

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        return speculate(self, request, rounds, verifier(self.edits), "rejection")
