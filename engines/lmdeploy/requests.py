"""A chain as lmdeploy's SamplingParam, in the one order of its sampler: that of SLOTS."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from sampler_parity.engines.shared.past import Past
from sampler_parity.engines.shared.stage_parameters import ANY_SEED, one_is_kept
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec

PENALTY, NGRAM, BANS, TEMPERATURE, TOP_K, TOP_P, MIN_P, SELECT = range(8)
SLOTS = {
    "lmdeploy_penalty": PENALTY,
    "lmdeploy_ngram": NGRAM,
    "lmdeploy_bans": BANS,
    "temp": TEMPERATURE,
    "top_k": TOP_K,
    "top_p": TOP_P,
    "min_p": MIN_P,
    "lmdeploy_sample": SELECT,
    "dist": SELECT,
    "greedy": SELECT,
}
RENAMED = {
    "temp": "temperature",
    "k": "top_k",
    "seed": "random_seed",
    "size": "repetition_ngram_size",
    "threshold": "repetition_ngram_threshold",
}
LEFT_OUT = ("min_keep", "n_vocab")
LONGEST = 1 << 20  # a minimum of tokens above the maximum were ignored


def parameters_of(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of GenerationConfig for a stage. Raises Unsupported."""
    one_is_kept(given, "lmdeploy")
    if name == "greedy":
        return {"top_k": 1}
    renamed = RENAMED | {"p": name}
    arguments = {renamed.get(key, key): of for key, of in given.items() if key not in LEFT_OUT}
    if name == "dist" and arguments["random_seed"] == ANY_SEED:
        del arguments["random_seed"]
    return arguments


def sampling_param(engine: SimpleNamespace, chain: ChainSpec) -> Any:
    """Return a chain as lmdeploy's SamplingParam. Raises Unsupported for a chain that lmdeploy
    lacks, InputError for one that it refuses."""
    stages = [(name, given) for stage in chain for name, given in stage.items()]
    slots = [SLOTS[name] for name, _ in stages]
    if any(left >= right for left, right in pairwise(slots)):
        raise Unsupported("lmdeploy has one order, and each stage once")
    if any(name == "lmdeploy_sample" for name, _ in stages) and max([0, *slots[:-1]]) > BANS:
        raise Unsupported("lmdeploy_sample has the temperature and the filters")
    arguments: dict[str, Any] = {"top_k": 0, "temperature": 1.0, "max_new_tokens": LONGEST}
    chosen: dict[str, Any] = {}
    for name, given in stages:
        more = parameters_of(name, given)
        for key in chosen.keys() & more.keys():
            if chosen[key] != more[key]:
                raise Unsupported(f"lmdeploy has one {key} for a request")
        chosen |= more
    try:
        config = engine.GenerationConfig(**arguments | chosen)
        return engine.SamplingParam.from_gen_config(config)
    except (AssertionError, ValueError, TypeError) as error:
        why = (str(error).splitlines() or ["an assertion"])[0] or "an assertion"
        raise InputError("lmdeploy", why) from None


@dataclass
class Request:
    """params: of each prefix of the chain, the whole last; params[0] has no stage."""

    chain: ChainSpec
    params: list[Any]
    past: Past = field(default_factory=Past)

    @classmethod
    def of(cls, engine: SimpleNamespace, chain: ChainSpec, past: Past) -> "Request":
        params = [sampling_param(engine, chain[:n]) for n in range(len(chain) + 1)]
        return cls(chain, params, past)

    @property
    def names(self) -> list[str]:
        return [name for stage in self.chain for name in stage]

    @property
    def selects(self) -> bool:
        return bool(self.chain) and SLOTS[self.names[-1]] == SELECT

    def copy(self) -> "Request":
        return Request(self.chain, self.params, self.past.copy())

    def sequence(self, stage: int, later: int = 0) -> Any:
        """Return what stands for a SchedulerSequence: the parameters up to a stage, the tokens.

        later: the number of draws from the same row before this one."""
        import numpy as np

        past = self.past
        return SimpleNamespace(
            sampling_param=self.params[min(stage, len(self.chain))],
            num_valid_ids=len(past.text) + later,
            valid_ids=np.array(past.text, np.int64),
            num_new_tokens=len(past.output),
            generated_ids=np.array(past.output, np.int64),
            session=SimpleNamespace(session_id=0),
            seq_id=0,
        )


def later(request: Request, first: int, last: int) -> Iterator[Any]:
    """Yield the request at successive positions."""
    for n in range(first, last):
        yield request.sequence(len(request.chain), n)
