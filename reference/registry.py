"""Every sampler of llama.cpp by its name, one row each.

Stages of engines have theirs in engines/NAME/engine.toml; harness/engines/samplers.py has both.

Code that builds chains, draws parameters for them (random chains, the fuzzer), checks an adapter,
or needs the cut of a sampler (lint, boundary) reads the row. To add one:
docs/background/add-a-sampler.md. The ranges that parameters are drawn from, and how far a sampler
counts, are plain data: harness/checks/stages/blocks/fuzz_cases.py draws, ladder.py there counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sampler_parity.reference.pipelines.ignore_eos import IgnoreEos
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.dry import Dry
from sampler_parity.reference.samplers.grammar import Grammar
from sampler_parity.reference.samplers.grammar_lazy_patterns import GrammarLazyPatterns
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.infill import Infill
from sampler_parity.reference.samplers.logit_bias import LogitBias
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.softmax import Softmax
from sampler_parity.reference.samplers.tail_free import TailFree
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.temp_ext import TempExt
from sampler_parity.reference.samplers.token_trie import TokenTrie
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_n_sigma import TopNSigma
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.typical_p import TypicalP
from sampler_parity.reference.samplers.xtc import Xtc


@dataclass(frozen=True)
class Integers:
    low: int
    high: int


@dataclass(frozen=True)
class Floats:
    """Numbers that are float32 values."""

    low: float
    high: float


@dataclass(frozen=True)
class OneOf:
    """One of the values, or, as often, of the range."""

    values: tuple[Any, ...]
    or_from: Floats | None = None


@dataclass(frozen=True)
class Biases:
    """Up to at_most pairs of a token and a bias, -inf among the biases."""

    tokens: Integers
    biases: Floats
    at_most: int


Range = Integers | Floats | OneOf | Biases


@dataclass(frozen=True)
class Size:
    """How far a sampler counts something: to 2**top where it is used. setting: parameters with
    which the count shows in the result, laid over the smallest setting."""

    top: int
    setting: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """The facts about a sampler that suites need.

    smallest: a valid setting.
    edges: for each parameter the values at and around its edges, for random chains; None: in no
    random chain. edges_with_vocab: more, with a vocabulary.
    ranges: the fuzzer draws from them; None: it does not.
    kind: `filter` removes or masks candidates, `select` always selects one.
    threshold: the parameter that a filter's cut is at.
    boundary: whether differences near the cut have a verdict of their own.
    sorts: whether its sort chooses which of equal candidates comes first, and stays at a cut.
    vocab: it needs a vocabulary.
    sizes: everything that it counts, each with the power of two that it reaches in use: candidates
    (their number and their ids), a parameter that is a count or a list, and the contents of its
    state: occurrences of a token, tokens accepted, draws (harness/checks/stages/blocks/ladder.py).
    """

    make: Callable[..., Sampler]
    smallest: Mapping[str, Any]
    edges: Mapping[str, list[Any]] | None = None
    edges_with_vocab: Mapping[str, list[Any]] | None = None
    ranges: Mapping[str, Range] | None = None
    kind: Literal["filter", "select", ""] = ""
    threshold: str = ""
    boundary: bool = False
    sorts: bool = False
    vocab: bool = False
    sizes: Mapping[str, Size] = field(default_factory=dict)


_SEEDS = [0, 1, 42, 2**31 - 1, 2**31, 2**31 + 5, 2**32 - 2]
_MIN_KEEP = [0, 0, 1, 2, 5, 1000]
_P = [0.0, 1e-8, 0.1, 0.5, 0.75, 0.9, 0.95, 0.999, 1.0]

_ANY_SEED = Integers(0, 2**32 - 2)
_ANY_MIN_KEEP = OneOf((0, 0, 1, 2, 5, 100))
_UNIT = OneOf((0.0, 0.25, 0.5, 1.0, 1e-8), Floats(0, 1))
_OF_P: Mapping[str, Range] = {"p": _UNIT, "min_keep": _ANY_MIN_KEEP}

_CANDIDATES = {"candidates": Size(18)}  # the largest vocabularies: 256,000 to 262,144 tokens
_OF_VOCABULARY = {"candidates": Size(12)}  # the largest vocabulary of the suites
_DRAWS = {"draws": Size(12)}  # 8,192 words of a generator that makes 624 at once
_REACH = {"penalty_repeat": 1.0, "penalty_freq": 0.125, "penalty_present": 0.25}  # exact sums

ROWS: dict[str, Row] = {
    "greedy": Row(Greedy, {}, kind="select", edges={}, ranges={}, sizes=_CANDIDATES),
    "dist": Row(Dist, {"seed": 1}, kind="select",
        edges={"seed": _SEEDS},
        ranges={"seed": _ANY_SEED}, sizes=_CANDIDATES | _DRAWS),
    "top_k": Row(TopK, {"k": 2}, kind="filter", sorts=True,
        edges={"k": [-1, 0, 1, 2, 5, 40, 100, 127, 128, 129, "V-1", "V", "V+1"]},
        ranges={"k": Integers(-1, 200)}, sizes=_CANDIDATES | {"k": Size(16)}),
    "top_p": Row(TopP, {"p": 0.9}, kind="filter", threshold="p", boundary=True, sorts=True,
        edges={"p": _P, "min_keep": _MIN_KEEP},
        ranges=_OF_P, sizes=_CANDIDATES | {"min_keep": Size(12, {"p": 0.0})}),
    "min_p": Row(MinP, {"p": 0.1}, kind="filter", threshold="p", boundary=True, sorts=True,
        edges={"p": [0.0, 1e-8, 0.05, 0.1, 0.5, 1.0, 1.05], "min_keep": _MIN_KEEP},
        ranges=_OF_P, sizes=_CANDIDATES | {"min_keep": Size(12, {"p": 1.0})}),
    "typical_p": Row(TypicalP, {"p": 0.9}, kind="filter", threshold="p", boundary=True, sorts=True,
        edges={"p": _P, "min_keep": _MIN_KEEP},
        ranges=_OF_P, sizes=_CANDIDATES | {"min_keep": Size(12, {"p": 0.0})}),
    "temp": Row(Temp, {"temp": 0.8},
        edges={"temp": [-1.0, 0.0, 0.1, 0.5, 0.8, 1.0, 1.5, 2.0]},
        ranges={"temp": Floats(-0.5, 3)}, sizes=_CANDIDATES),
    "temp_ext": Row(TempExt, {"temp": 0.8, "delta": 0.1},
        edges={"temp": [0.0, 0.5, 0.8, 1.0, 1.5], "delta": [-1.0, 0.0, 0.3, 0.5, 2.0],
            "exponent": [0.0, 0.5, 1.0, 2.0]},
        ranges={"temp": Floats(0, 2), "delta": Floats(-0.5, 2), "exponent": Floats(0.125, 3)},
        sizes=_CANDIDATES),
    "xtc": Row(Xtc, {"p": 0.5, "t": 0.1, "seed": 1}, kind="filter", threshold="t", sorts=True,
        edges={"p": [0.0, 0.3, 0.5, 1.0], "t": [0.0, 0.01, 0.1, 0.3, 0.5, 0.51],
            "min_keep": _MIN_KEEP, "seed": _SEEDS},
        ranges={"p": _UNIT, "t": Floats(0, 0.625), "min_keep": _ANY_MIN_KEEP, "seed": _ANY_SEED},
        sizes=_CANDIDATES | _DRAWS | {"min_keep": Size(12, {"p": 1.0})}),
    "top_n_sigma": Row(TopNSigma, {"n": 1.0}, kind="filter", threshold="n",
        edges={"n": [-1.0, 0.0, 0.5, 1.0, 2.0, 5.0]},
        ranges={"n": Floats(-1, 4)}, sizes=_CANDIDATES),
    "mirostat": Row(Mirostat, {"seed": 1}, kind="select", sorts=True,
        edges={"seed": _SEEDS, "tau": [0.0, 0.5, 3.0, 5.0], "eta": [0.0, 0.1, 1.0],
            "m": [0, 1, 2, 100]},
        ranges={"seed": _ANY_SEED, "tau": Floats(0, 12), "eta": Floats(0, 1),
            "m": Integers(-1, 120)}, sizes=_CANDIDATES | _DRAWS | {"m": Size(12)}),
    "mirostat_v2": Row(MirostatV2, {"seed": 1}, kind="select", sorts=True,
        edges={"seed": _SEEDS, "tau": [0.0, 0.5, 3.0, 5.0], "eta": [0.0, 0.1, 1.0]},
        ranges={"seed": _ANY_SEED, "tau": Floats(0, 12), "eta": Floats(0, 1)},
        sizes=_CANDIDATES | _DRAWS),
    "penalties": Row(Penalties, {"penalty_last_n": 4, "penalty_repeat": 1.1},
        edges={"penalty_last_n": [-1, 0, 1, 4, 64], "penalty_repeat": [0.75, 1.0, 1.1, 1.5],
            "penalty_freq": [-0.25, 0.0, 0.3], "penalty_present": [-0.5, 0.0, 0.7]},
        ranges={"penalty_last_n": Integers(-1, 12), "penalty_repeat": Floats(0.5, 2),
            "penalty_freq": Floats(-1, 1), "penalty_present": Floats(-1, 1)},
        sizes=_CANDIDATES | {"penalty_last_n": Size(12, _REACH), "occurrences": Size(12, _REACH),
            "accepted": Size(16, _REACH | {"penalty_last_n": 2**16 + 1})}),
    "dry": Row(Dry, {"dry_multiplier": 0.8},
        edges={"dry_multiplier": [0.0, 0.8, 1.5], "dry_base": [0.5, 1.0, 1.75],
            "dry_allowed_length": [0, 1, 2, 3], "dry_penalty_last_n": [-1, 0, 5, 64]},
        edges_with_vocab={"seq_breakers": [[], ["\n"], ["he", "hell"], [":", '"', "*", "\n"]]},
        ranges={"dry_multiplier": Floats(0, 2), "dry_base": Floats(0.875, 3),
            "dry_allowed_length": Integers(-1, 4), "dry_penalty_last_n": Integers(-1, 40)},
        sizes=_CANDIDATES | {
            "dry_penalty_last_n": Size(12, {"dry_base": 1.001953125, "dry_allowed_length": 1}),
            "dry_allowed_length": Size(8, {"dry_base": 1.001953125}),
            "seq_breakers": Size(6, {"dry_base": 1.0625, "dry_allowed_length": 1}),
            "accepted": Size(16)}),
    "logit_bias": Row(LogitBias, {"logit_bias": [[1, -1.0]]},
        edges={"logit_bias": [[], [[0, 2.5]], [["V-1", -1.5], [0, 1.0]],
            [[1, float("-inf")], ["V+1", 3.0]], [[3, 1.0], [3, 0.5], [5, -2.0]]]},
        ranges={"logit_bias": Biases(Integers(0, 40), Floats(-9, 9), at_most=4)},
        sizes=_CANDIDATES | {"logit_bias": Size(12)}),
    "infill": Row(Infill, {}, vocab=True, edges_with_vocab={}, sizes=_OF_VOCABULARY),
    "adaptive_p": Row(AdaptiveP, {"target": 0.3, "seed": 1}, kind="select",
        edges={"target": [-1.0, 0.0, 0.3, 0.5, 1.0], "decay": [0.0, 0.5, 0.9, 0.99],
            "seed": _SEEDS},
        ranges={"target": Floats(-0.25, 1), "decay": Floats(0, 1), "seed": _ANY_SEED},
        sizes=_CANDIDATES | _DRAWS | {"accepted": Size(16)}),
    "grammar": Row(Grammar, {"grammar_str": "root ::= [\\x01-\\x03]+"}, vocab=True,
        sizes={"candidates": Size(12, {"grammar_str": "root ::= [a-z ]+"})}),
    "grammar_lazy_patterns": Row(GrammarLazyPatterns,
        {"grammar_str": "root ::= [\\x01-\\x03]+", "trigger_patterns": ["a"]}, vocab=True,
        sizes={"candidates": Size(12, {"grammar_str": "root ::= [a-z ]+"})}),
    "softmax": Row(Softmax, {}, sorts=True, sizes=_CANDIDATES),
    "tail_free": Row(TailFree, {"z": 0.9}, threshold="z", boundary=True, sorts=True,
        sizes=_CANDIDATES | {"min_keep": Size(12, {"z": 0.0})}),
}  # fmt: skip

_TRIE = '{"modelId":"m","descriptors":[{"path":"a","leaves":[{"name":"A","tokens":[1,2]}]}]}'

# Also in the reference: a chain with the token trie in it, and `--ignore-eos`.
PIPELINE_ROWS: dict[str, Row] = {
    "ignore_eos": Row(IgnoreEos, {}, vocab=True),
    "token_trie": Row(TokenTrie, {"trie_descriptor_json": _TRIE}),
}
REFERENCE_ROWS = ROWS | PIPELINE_ROWS

SAMPLERS: dict[str, Callable[..., Sampler]] = {name: row.make for name, row in ROWS.items()}
REFERENCE_SAMPLERS: dict[str, Callable[..., Sampler]] = {
    name: row.make for name, row in REFERENCE_ROWS.items()
}
# Samplers that always select one candidate.
SELECTING = frozenset(name for name, row in ROWS.items() if row.kind == "select")
