"""Record what transformers' `generate` samples (`sampler-parity record --engine transformers`).

Python loads this file into the recorded program, so it imports nothing at its top but the standard
library. A stage is a processor of the LogitsProcessorList that `generate` makes; each row of a
batch is a chain. The draw of torch.multinomial has random numbers of its own and is no stage that
can be judged: `check` requires that its token is a survivor.

Not recorded: beam search, assisted decoding and continuous batching, which sample otherwise.
"""

import functools
import math
import threading
from types import FunctionType, MethodType, ModuleType
from typing import Any

_NOW = threading.local()  # .run: the _Run of this thread, or None


def _parameters(processor: Any) -> tuple[str | None, dict[str, Any]]:
    """Return our name and arguments of a processor; None for one without a model."""
    kind, of = type(processor).__name__, vars(processor)
    least = of.get("min_tokens_to_keep", 1)
    ends = [int(token) for token in _list(of.get("eos_token_id"))]
    if of.get("filter_value", -math.inf) != -math.inf:
        return None, {}
    match kind:
        case "TemperatureLogitsWarper":
            return "temp", {"temp": of["temperature"]}
        case "TopKLogitsWarper":
            return "top_k", {"k": of["top_k"]}
        case "TopPLogitsWarper":
            return "top_p", {"p": of["top_p"], "min_keep": least}
        case "MinPLogitsWarper":
            return "min_p", {"p": of["min_p"], "min_keep": least}
        case "TypicalLogitsWarper":
            return "typical_p", {"p": of["mass"], "min_keep": least}
        case "RepetitionPenaltyLogitsProcessor":
            return "transformers_repetition_penalty", {"penalty": of["penalty"]}
        case "MinLengthLogitsProcessor":
            given = {"min_length": of["min_length"], "eos_token_id": ends}
            return "transformers_min_length", given
        case "MinNewTokensLengthLogitsProcessor":
            given = {"min_new_tokens": of["min_new_tokens"], "eos_token_id": ends}
            return "transformers_min_new_tokens", given
        case "NoBadWordsLogitsProcessor":  # without the words that are an end-of-text token
            return "transformers_no_bad_words", {"bad_words_ids": list(of["sequence_bias"])}
        case "SequenceBiasLogitsProcessor":
            biases = [[list(ids), float(bias)] for ids, bias in of["sequence_bias"].items()]
            return "transformers_sequence_bias", {"sequence_bias": biases}
    return None, {}


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value.reshape(-1).tolist() if hasattr(value, "reshape") else list(value)


class _Run:
    """One call of `_sample`: a chain for each row."""

    def __init__(self, hooks: Any, sampling: bool) -> None:
        self.hooks, self.last = hooks, "torch.multinomial" if sampling else "greedy"
        self.chains: list[Any] = []
        self.going: list[bool] = []
        self.rows: list[Any] = []  # the scores, then those after each processor
        self.opaque = False  # a processor is a function: the list is one stage

    def begin(self, processors: Any, input_ids: Any, scores: Any) -> None:
        self.rows = [_copied(scores)]
        if self.chains:
            return
        functions = (FunctionType, MethodType, functools.partial)
        self.opaque = any(isinstance(processor, functions) for processor in processors)
        for row, prompt in enumerate(input_ids.tolist()):
            one: list[Any] = [(None, type(processors).__name__, {})]
            stages = one if self.opaque else [self.stage(each, row) for each in processors]
            stages.append((None if self.last != "greedy" else "greedy", self.last, {}))
            self.chains.append(self.hooks.chain(stages, prompt, scores.shape[-1]))
        self.going = [True] * len(self.chains)

    def stage(self, processor: Any, row: int) -> tuple[str | None, str, dict[str, Any]]:
        name, arguments = _parameters(processor)
        ignored = getattr(processor, "prompt_ignore_length", None)
        if ignored is not None:
            ignored = ignored if isinstance(ignored, int) else int(ignored[row])
            arguments["prompt_ignore_length"] = ignored
        return name, type(processor).__name__, arguments

    def end_step(self, input_ids: Any, done: Any) -> None:
        """Write the step of every row that goes on: its token is the last of the text."""
        tokens, ended = input_ids[:, -1].tolist(), _list(done)
        for row, chain in enumerate(self.chains):
            if self.going[row]:
                before, *after = (scores[row] for scores in self.rows)
                chain.apply(before, [*after, (after or [before])[-1]], tokens[row])
                chain.accept(tokens[row])
            self.going[row] = self.going[row] and not ended[row]

    def end(self) -> None:
        for chain in self.chains:
            chain.end()


def _copied(scores: Any) -> Any:
    return scores.detach().float().cpu().numpy().copy()


def _generation(module: ModuleType, hooks: Any) -> None:
    """Patch transformers.generation.utils."""
    mixin, original = module.GenerationMixin, module.GenerationMixin._sample

    @functools.wraps(original)
    def sample(self: Any, *arguments: Any, **named: Any) -> Any:
        outer = getattr(_NOW, "run", None)
        config = named.get("generation_config") or next(
            (one for one in arguments if hasattr(one, "do_sample")), None
        )
        _NOW.run = run = _Run(hooks, bool(getattr(config, "do_sample", False)))
        try:
            return original(self, *arguments, **named)
        finally:
            _NOW.run = outer
            hooks.safely(run.end)

    mixin._sample = sample


def _processors(module: ModuleType, hooks: Any) -> None:
    """Patch transformers.generation.logits_process: the list, and each class when it is used."""
    of_list: Any = module.LogitsProcessorList
    call_all = of_list.__call__

    def watched(kind: type) -> None:
        call = kind.__call__

        @functools.wraps(call)
        def one(self: Any, *arguments: Any, **named: Any) -> Any:
            depth = _NOW.depth = getattr(_NOW, "depth", 0) + 1
            try:
                scores = call(self, *arguments, **named)
            finally:
                _NOW.depth -= 1
            run = getattr(_NOW, "run", None)
            if run is not None and depth == 1 and not run.opaque:
                hooks.safely(lambda: run.rows.append(_copied(scores)))
            return scores

        kind.__call__ = one  # type: ignore[method-assign]
        kind._sampler_parity = True  # type: ignore[attr-defined]

    def begin(self: Any, input_ids: Any, scores: Any) -> None:
        _NOW.run.begin(self, input_ids, scores)
        for kind in () if _NOW.run.opaque else {type(processor) for processor in self}:
            if "_sampler_parity" not in vars(kind):
                watched(kind)

    @functools.wraps(call_all)
    def call_list(self: Any, input_ids: Any, scores: Any, **named: Any) -> Any:
        if getattr(_NOW, "run", None) is not None:
            hooks.safely(begin, self, input_ids, scores)
        left = call_all(self, input_ids, scores, **named)
        if getattr(_NOW, "run", None) is not None and _NOW.run.opaque:
            hooks.safely(lambda: _NOW.run.rows.append(_copied(left)))
        return left

    of_list.__call__ = call_list


def _criteria(module: ModuleType, hooks: Any) -> None:
    """Patch transformers.generation.stopping_criteria: `_sample` asks them after each token."""
    of_list: Any = module.StoppingCriteriaList
    call = of_list.__call__

    @functools.wraps(call)
    def asked(self: Any, input_ids: Any, scores: Any, **named: Any) -> Any:
        done = call(self, input_ids, scores, **named)
        if getattr(_NOW, "run", None) is not None:
            hooks.safely(_NOW.run.end_step, input_ids, done)
        return done

    of_list.__call__ = asked


def _tokenizer(module: ModuleType, hooks: Any) -> None:
    """Patch transformers.tokenization_utils_base: the newest tokenizer names the tokens."""
    base: Any = module.PreTrainedTokenizerBase
    original = base.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls: Any, *arguments: Any, **named: Any) -> Any:
        hooks.tokenizer = original(cls, *arguments, **named)
        return hooks.tokenizer

    base.from_pretrained = classmethod(from_pretrained)


def _version(module: ModuleType, hooks: Any) -> None:
    hooks.named(module.__version__)


MODULES = {
    "transformers": _version,
    "transformers.generation.utils": _generation,
    "transformers.generation.logits_process": _processors,
    "transformers.generation.stopping_criteria": _criteria,
    "transformers.tokenization_utils_base": _tokenizer,
}
