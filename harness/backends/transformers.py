"""transformers: Hugging Face's logits processors on the CPU (the extra `transformers`).

A stage is the processor that `generate` makes of the same parameters, called on the scores of the
whole vocabulary; dist and greedy are the multinomial and the argmax that `generate` ends with.
docs/transformers.md maps the parameters and lists what has no counterpart.

Readings: a score of -inf is a removed candidate. A mask has no order, so candidates are listed as
llama.cpp leaves them: by id, behind top_k and top_p the largest first, behind typical_p the nearest
to the entropy first, equal ones by id. p is that of the last softmax before a cut, or 0, as
llama.cpp keeps it.
"""

import importlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

Processor = tuple[str, dict[str, Any]]

SAMPLERS = ["greedy", "dist", "top_k", "top_p", "min_p", "typical_p", "temp", "penalties"]
SAMPLERS += ["logit_bias"]


def processor_of(name: str, parameters: dict[str, Any]) -> Processor | None:
    """The class and its arguments; None where `generate` would make none of these parameters.

    Raises Unsupported for a sampler or parameter without counterpart.
    """
    minimum = {"min_tokens_to_keep": max(1, parameters.get("min_keep", 1))}
    if name == "temp":
        t = float(parameters["temp"])
        return None if t == 1 else ("TemperatureLogitsWarper", {"temperature": t})
    if name == "top_k":
        return None if parameters["k"] == 0 else ("TopKLogitsWarper", {"top_k": parameters["k"]})
    if name == "top_p":
        p = float(parameters["p"])
        return None if p >= 1 else ("TopPLogitsWarper", {"top_p": p} | minimum)
    if name == "min_p":
        return "MinPLogitsWarper", {"min_p": float(parameters["p"])} | minimum
    if name == "typical_p":
        p = float(parameters["p"])
        return None if p >= 1 else ("TypicalLogitsWarper", {"mass": p} | minimum)
    if name == "penalties":
        if parameters["penalty_freq"] != 0 or parameters["penalty_present"] != 0:
            raise Unsupported("no frequency and no presence penalty")
        repeat = float(parameters["penalty_repeat"])
        off = repeat == 1 or parameters["penalty_last_n"] <= 0
        return None if off else ("RepetitionPenaltyLogitsProcessor", {"penalty": repeat})
    if name == "logit_bias":
        biases = [[[token], float(bias)] for token, bias in parameters["logit_bias"]]
        return ("SequenceBiasLogitsProcessor", {"sequence_bias": biases}) if biases else None
    if name in ("dist", "greedy"):
        return None
    raise Unsupported(f"transformers has no {name}")


@cache
def _libraries() -> tuple[Any, Any]:
    """torch and transformers. Raises Unsupported where they are not installed."""
    try:
        torch = importlib.import_module("torch")
        transformers = importlib.import_module("transformers")
    except ImportError:
        extra = "pip install sampler-parity[transformers]"
        raise Unsupported(f"transformers or torch is not installed: {extra}") from None
    torch.set_num_threads(1)
    return torch, transformers


class Row:
    """scores: [1, n_vocab]. order: what the candidates are listed by, ascending; None: by id."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        torch, _ = _libraries()
        self.scores = torch.tensor(logits).unsqueeze(0)
        self.p = torch.zeros_like(self.scores)
        self.order: Any = None
        self.token = -1

    def ids(self) -> Any:
        torch, _ = _libraries()
        survivors = torch.nonzero(self.scores[0] != -torch.inf)[:, 0]
        return (
            survivors
            if self.order is None
            else survivors[self.order[0, survivors].argsort(stable=True)]
        )


class Stage:
    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        self.name, self.parameters = name, parameters
        self.processor: Any = None
        self.generator: Any = None
        wanted = processor_of(name, parameters)
        if wanted is not None:
            of_class, arguments = wanted
            try:
                self.processor = getattr(_libraries()[1], of_class)(**arguments)
            except ValueError as error:
                raise InputError(of_class, str(error)) from None
        self.reset()

    def reset(self) -> None:
        if self.name == "dist":
            seed = self.parameters["seed"]
            self.generator = _libraries()[0].Generator()
            self.generator.manual_seed(seed) if seed != 0xFFFFFFFF else self.generator.seed()

    def apply(self, row: Row, history: list[int]) -> None:
        try:
            if self.name == "greedy":
                row.token = int(row.scores.argmax(-1))
            elif self.name == "dist":
                row.p = row.scores.softmax(-1)
                row.token = self.draw(row.p)
            elif self.processor is not None:
                self._process(row, history[-self.parameters.get("penalty_last_n", 0) :])
        except (ValueError, RuntimeError, IndexError) as error:
            raise InputError(self.name, str(error)) from None

    def _process(self, row: Row, history: list[int]) -> None:
        torch, _ = _libraries()
        before = row.scores
        row.scores = self.processor(torch.tensor([history], dtype=torch.long), before)
        if self.name in ("top_p", "typical_p"):
            row.p = before.softmax(-1)
        if self.name in ("top_k", "top_p"):
            row.order = -before
        elif self.name == "typical_p":
            surprisal = -before.log_softmax(-1)
            row.order = (surprisal - (surprisal * row.p).nansum(-1, keepdim=True)).abs()

    def draw(self, p: Any) -> int:
        return int(_libraries()[0].multinomial(p, 1, generator=self.generator))


class Instance:
    def __init__(self, chain: ChainSpec) -> None:
        self.chain = chain
        self.stages = [
            Stage(name, parameters) for stage in chain for name, parameters in stage.items()
        ]
        self.history: list[int] = []

    def apply(self, stage: int | None, row: Row) -> None:
        for chosen in self.stages if stage is None else [self.stages[stage]]:
            chosen.apply(row, self.history)

    def accept(self, token: int) -> None:
        self.history.append(token)

    def reset(self) -> None:
        self.history.clear()
        for stage in self.stages:
            stage.reset()

    def clone(self) -> "Instance":
        twin = Instance(self.chain)
        twin.history = list(self.history)
        for stage, other in zip(self.stages, twin.stages, strict=True):
            if stage.generator is not None:
                other.generator.set_state(stage.generator.get_state())
        return twin

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """n tokens, each drawn as `generate` draws one: more at once are drawn in another way."""
        if uniforms is not None:
            raise Unsupported("torch takes no uniforms")
        last = self.stages[-1]
        self.apply(None, row)
        rest = (last.draw(row.p) if last.name == "dist" else row.token for _ in range(n - 1))
        return np.fromiter([row.token, *rest], np.int32, n)


class Worker:
    def hello(self) -> HelloReply:
        torch, transformers = _libraries()
        return HelloReply(
            name="transformers",
            version=f"transformers {transformers.__version__}, torch {torch.__version__}",
            capabilities=["run", "draws", "time"],
            samplers=SAMPLERS,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        ids = row.ids()
        at = (ids == row.token).nonzero()
        selected = int(at[0, 0]) if len(at) else -1
        return ids.numpy(), row.scores[0, ids].numpy(), row.p[0, ids].numpy(), None, selected
