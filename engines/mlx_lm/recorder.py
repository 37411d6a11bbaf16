"""Record what MLX LM samples (`sampler-parity record --engine mlx_lm`).

Python loads this file into the recorded program, so it imports nothing at its top but the standard
library. The stages are those of engines/mlx_lm/model: logit_bias, mlx_penalties (up to three
processors of make_logits_processors) and mlx_sampler (log-probabilities, filters and the draw, with
the key of MLX's generator). Another processor or sampler is counted apart by its name.

A generate_step is a chain. Not recorded: drafts (speculative_generate_step) and BatchGenerator,
which is what the server and batch_generate use.
"""

import functools
import importlib
import inspect
import threading
from types import ModuleType
from typing import Any

_NOW = threading.local()  # .drawn: the scores of the newest draw
_MADE = "_sampler_parity"  # attribute of a function: the stage that it is part of, with its group


def _rows(array: Any) -> Any:
    """Return an array of MLX as numpy's, float32."""
    mx, np = importlib.import_module("mlx.core"), importlib.import_module("numpy")
    return np.array(array.astype(mx.float32))


def _key() -> int:
    """Return the key that the next draw of mx.random takes."""
    mx, np = importlib.import_module("mlx.core"), importlib.import_module("numpy")
    high, low = np.array(mx.random.state[0]).tolist()
    return int(high << 32 | low)


def _sample_utils(module: Any, hooks: Any) -> None:
    """Patch mlx_lm.sample_utils: remember the arguments of what it makes, and the draw's scores."""
    make_sampler, make_processors = module.make_sampler, module.make_logits_processors
    draw = module.categorical_sampling

    @functools.wraps(make_sampler)
    def sampler(*arguments: Any, **named: Any) -> Any:
        made = make_sampler(*arguments, **named)
        given = inspect.signature(make_sampler).bind(*arguments, **named).arguments
        if made is not module.greedy_sampler:
            hooks.safely(setattr, made, _MADE, ("mlx_sampler", _known(given), object()))
        return made

    @functools.wraps(make_processors)
    def processors(*arguments: Any, **named: Any) -> Any:
        made = make_processors(*arguments, **named)
        given = _known(inspect.signature(make_processors).bind(*arguments, **named).arguments)
        hooks.safely(mark, made, given)
        return made

    def mark(made: list[Any], given: dict[str, Any]) -> None:
        biases, group = given.pop("logit_bias", None), object()
        pairs = [[int(token), float(bias)] for token, bias in (biases or {}).items()]
        for i, function in enumerate(made):
            stage = ("logit_bias", {"logit_bias": pairs}, function)
            setattr(function, _MADE, stage if i == 0 and pairs else ("mlx_penalties", given, group))

    @functools.wraps(draw)
    def drawn(scores: Any, temp: float) -> Any:
        _NOW.drawn = scores
        return draw(scores, temp)

    setattr(module.greedy_sampler, _MADE, ("mlx_sampler", {"temp": 0.0}, object()))
    module.make_sampler, module.make_logits_processors = sampler, processors
    module.categorical_sampling = drawn


def _known(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


class _Text:
    """A generate_step: its processors and its sampler, with what each leaves."""

    def __init__(self, hooks: Any, processors: list[Any], sampler: Any) -> None:
        self.hooks, self.processors, self.sampler = hooks, processors, sampler
        self.chain: Any = None
        self.before: Any = None
        self.after: list[Any] = []
        self.stages: list[tuple[str | None, str, dict[str, Any]]] = []
        self.groups: list[Any] = []  # the stage of each processor
        for function in (*processors, sampler):
            name = getattr(function, "__name__", type(function).__name__)
            ours, arguments, group = getattr(function, _MADE, (None, {}, object()))
            if not self.groups or self.groups[-1] is not group:
                self.stages.append((ours, ours or name, dict(arguments)))
            self.groups.append(group)

    def begin(self, tokens: Any, logits: Any) -> None:
        """Begin a step. tokens: all so far."""
        self.before, self.after = _rows(logits)[0], []
        if self.chain is None:
            if self.stages[-1][0] == "mlx_sampler":
                self.stages[-1][2]["seed"] = _key()
            if (kind := str(logits.dtype).rpartition(".")[2]) != "float32":
                self.stages = [(None, f"{name} in {kind}", given) for _, name, given in self.stages]
            self.chain = self.hooks.chain(self.stages, tokens.tolist(), len(self.before))
        else:
            self.chain.accept(tokens[-1].item())

    def processed(self, i: int, logits: Any) -> None:
        """Keep what a stage leaves: its last processor's logits."""
        if self.groups[i] is not self.groups[i + 1]:
            self.after.append(_rows(logits)[0])

    def sampled(self, key: int, logprobs: Any, token: Any) -> None:
        drawn = getattr(_NOW, "drawn", None)
        self.after.append(_rows(logprobs if drawn is None else drawn)[0])
        self.chain.seed(len(self.stages) - 1, key)
        self.chain.apply(self.before, self.after, int(token.item()))

    def watched(self) -> tuple[list[Any], Any]:
        """Return the processors, one more before them, and the sampler, each with our eyes on."""
        safely = self.hooks.safely

        def first(tokens: Any, logits: Any) -> Any:
            safely(self.begin, tokens, logits)
            return logits

        def one(i: int, processor: Any) -> Any:
            def call(tokens: Any, logits: Any) -> Any:
                logits = processor(tokens, logits)
                safely(self.processed, i, logits)
                return logits

            return call

        def sample(logprobs: Any) -> Any:
            _NOW.drawn = None
            key = safely(_key)
            token = self.sampler(logprobs)
            safely(self.sampled, key, logprobs, token)
            return token

        return [first, *(one(i, p) for i, p in enumerate(self.processors))], sample


def _generate(module: Any, hooks: Any) -> None:
    """Patch mlx_lm.generate.generate_step."""
    original = module.generate_step

    @functools.wraps(original)
    def generate_step(*arguments: Any, **named: Any) -> Any:
        given = list(named.get("logits_processors") or [])
        sampler = named.get("sampler") or module.greedy_sampler
        text = hooks.safely(_Text, hooks, given, sampler)
        if text is not None:
            named["logits_processors"], named["sampler"] = text.watched()
        yield from original(*arguments, **named)

    module.generate_step = generate_step


def _tokenizer(module: Any, hooks: Any) -> None:
    """Patch mlx_lm.tokenizer_utils: the newest tokenizer names the tokens."""
    original = module.load

    @functools.wraps(original)
    def load(*arguments: Any, **named: Any) -> Any:
        hooks.tokenizer = original(*arguments, **named)
        return hooks.tokenizer

    module.load = load


def _version(module: ModuleType, hooks: Any) -> None:
    hooks.named(module.__version__)


MODULES = {
    "mlx_lm._version": _version,
    "mlx_lm.sample_utils": _sample_utils,
    "mlx_lm.generate": _generate,
    "mlx_lm.tokenizer_utils": _tokenizer,
}
