"""What servers are asked in: of each dialect its paths and its parameters, as documented.

A parameter's row says what it must do, and the values that show it. What a row may say of its
effect (harness/servers/parameters.py):

    greedy    hot texts become the greedy one
    constant  hot texts of several seeds become one
    moves     the greedy text becomes another
    spreads   the greedy text has more different tokens
    forces    the greedy text has one token alone: that of `effective`
    changes   a hot text of a seed becomes another, which comes again
    seed      a hot text comes again with the same value, and another with another
    length    the text has so many tokens
    stops     the text ends before a word of it
    shape     the text begins with what the grammar asks for

Sources: llama.cpp tools/server/README.md at v0.5.0; OpenAI's reference of /v1/completions and
/v1/chat/completions; vLLM
0.32's SamplingParams and "OpenAI-compatible server"; Ollama docs/api.md and docs/modelfile.md;
mlx-lm 0.32.2 mlx_lm/SERVER.md; llama_cpp/server/types.py of llama-cpp-python 0.3.36.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

Effect = Literal[
    "greedy",
    "constant",
    "moves",
    "spreads",
    "forces",
    "changes",
    "seed",
    "length",
    "stops",
    "shape",
]
Text = Literal["llama-server", "openai", "ollama"]  # what an answer looks like
WORD = "{word}"  # in a value: a word of the greedy text
TOKEN = "300"  # a token of every vocabulary: OpenAI's logit_bias has ids as strings
EOS = "{eos}"  # in a value: the id of the token that ends a text
UNKNOWN = "no_such_parameter_of_any_server"


@dataclass(frozen=True)
class Parameter:
    """default: as documented; None: none is. beyond: a value that the documentation does not allow,
    bound: the nearest that it does. also: further fields that it needs. alone: its
    neutral value would take the effect of others, too. documented: whether the
    dialect has it at all."""

    name: str
    effect: Effect
    neutral: Any = None
    effective: Any = None
    default: Any = None
    beyond: Any = None
    bound: Any = None
    wrong: Any = "a word"
    also: dict[str, Any] = field(default_factory=dict)
    alone: bool = False
    documented: bool = True

    def at(self, value: Any) -> dict[str, Any]:
        """Return the fields of a request with this value; None: the parameter is not sent."""
        return {self.name: value, **self.also}


@dataclass(frozen=True)
class Dialect:
    """path: of a completion. length, seed, temperature: names of these. hot: a temperature at which
    texts differ. always: fields of each request. group: the field that parameters stand in.
    probabilities: what asks for those of the five most likely tokens. drawn: what asks for the ids
    of those drawn, where they are not always named. temperature_first: filters see what it left.
    chat: the prompt is the message of a user, which a template of the server's puts into a text."""

    name: str
    path: str
    text: Text
    length: str
    parameters: tuple[Parameter, ...]
    hot: float = 2.0
    always: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    probabilities: dict[str, Any] = field(default_factory=dict)
    drawn: dict[str, Any] = field(default_factory=dict)
    temperature_first: bool = False
    chat: bool = False

    @property
    def neutral(self) -> dict[str, Any]:
        """All that it documents, without effect."""
        rows = (row for row in self.parameters if row.documented and not row.alone)
        return {row.name: row.neutral for row in rows if row.neutral is not None}


_P = Parameter

_ADAPTIVE = {"samplers": ["adaptive_p"], "adaptive_target": 0.3}
_DRY = {"dry_multiplier": 0.2, "dry_allowed_length": 1}
_LLAMA_SERVER = Dialect(
    "llama-server",
    "/completion",
    "llama-server",
    "n_predict",
    always={"cache_prompt": False, "return_tokens": True},
    probabilities={"n_probs": 5},
    parameters=(
        _P("temperature", "greedy", 1.0, 0.0, 0.8),
        _P("top_k", "greedy", 0, 1, 40),
        _P("top_p", "greedy", 1.0, 1e-6, 0.95, beyond=1.5, bound=1.0),
        _P("min_p", "greedy", 0.0, 1.0, 0.05, beyond=-0.5, bound=0.0),
        _P("top_n_sigma", "greedy", -1.0, 1e-6, -1.0),
        _P("typical_p", "constant", 1.0, 1e-6, 1.0, beyond=1.5, bound=1.0),
        _P("xtc_probability", "moves", 0.0, 1.0, 0.0, 1.5, 1.0, also={"xtc_threshold": 1e-4}),
        _P("xtc_threshold", "moves", None, 1e-4, 0.1, also={"xtc_probability": 1.0}),
        _P("dynatemp_range", "changes", 0.0, 1.0, 0.0),
        _P("dynatemp_exponent", "changes", 1.0, 4.0, 1.0, also={"dynatemp_range": 1.5}),
        _P("repeat_penalty", "spreads", 1.0, 4.0, 1.0, beyond=-1.0),
        _P("repeat_last_n", "spreads", 0, 64, 64, -2, also={"repeat_penalty": 4.0}, alone=True),
        _P("presence_penalty", "spreads", 0.0, 8.0, 0.0),
        _P("frequency_penalty", "spreads", 0.0, 8.0, 0.0),
        _P("dry_multiplier", "moves", 0.0, 8.0, 0.0),
        _P("dry_base", "moves", None, 100.0, 1.75, also=_DRY),
        _P("dry_allowed_length", "moves", None, 1, 2, also={"dry_multiplier": 8.0}),
        _P("dry_penalty_last_n", "moves", 0, 64, 64, -2, also={"dry_multiplier": 8.0}, alone=True),
        _P("dry_sequence_breakers", "moves", None, [" "], also={"dry_multiplier": 8.0}, wrong=5),
        _P("mirostat", "changes", 0, 2, 0, also={"mirostat_tau": 1.0}, beyond=7),
        _P("mirostat_tau", "changes", None, 0.5, 5.0, also={"mirostat": 2}),
        _P("mirostat_eta", "changes", None, 0.9, 0.1, also={"mirostat": 2}),
        _P("adaptive_target", "changes", -1.0, 0.3, -1.0, also={"samplers": ["adaptive_p"]}),
        _P("adaptive_decay", "changes", None, 0.1, 0.9, also=_ADAPTIVE),
        _P("min_keep", "changes", 0, 4, 0, also={"top_p": 0.05}, beyond=-1),
        _P("samplers", "changes", None, ["top_k"], also={"top_p": 0.3}, beyond=["none"], wrong=5),
        _P("logit_bias", "forces", [], [[int(TOKEN), 1000.0]], [], [[1 << 30, 1.0]], wrong=5),
        _P("ignore_eos", "moves", False, True, False, also={"logit_bias": [[EOS, 1000.0]]}),
        _P("seed", "seed", None, 7, wrong="a word"),
        _P("n_predict", "length", None, 5, -1, beyond=-5),
        _P("stop", "stops", [], [WORD], [], wrong=5),
        _P("grammar", "shape", None, 'root ::= "abacus"', beyond="root ::= (", wrong=5),
        _P("json_schema", "shape", None, {"const": "abacus"}, wrong=5),
    ),
)  # fmt: skip

_OPENAI_ROWS = (
    _P("temperature", "greedy", 1.0, 0.0, 1.0, beyond=-1.0),
    _P("top_p", "greedy", 1.0, 1e-6, 1.0, beyond=1.5, bound=1.0),
    _P("presence_penalty", "spreads", 0.0, 2.0, 0.0, beyond=9.0, bound=2.0),
    _P("frequency_penalty", "spreads", 0.0, 2.0, 0.0, beyond=9.0, bound=2.0),
    _P("logit_bias", "forces", {}, {TOKEN: 100}, {}, wrong=5),
    _P("seed", "seed", None, 7),
    _P("max_tokens", "length", None, 5, 16, beyond=-5),
    _P("stop", "stops", None, [WORD], wrong=5),
)
_LOOKED_FOR = (
    _P("top_k", "greedy", 0, 1, documented=False),
    _P("min_p", "greedy", 0.0, 1.0, documented=False),
    _P("repetition_penalty", "spreads", 1.0, 2.0, documented=False),
    _P("repeat_penalty", "spreads", 1.0, 2.0, documented=False),
    _P("min_tokens", "moves", 0, 8, documented=False),
)
_OPENAI = Dialect(
    "openai",
    "/v1/completions",
    "openai",
    "max_tokens",
    probabilities={"logprobs": 5},
    parameters=(*_OPENAI_ROWS, *_LOOKED_FOR),
)
_OPENAI_CHAT = Dialect(
    "openai-chat",
    "/v1/chat/completions",
    "openai",
    "max_tokens",
    probabilities={"logprobs": True, "top_logprobs": 5},
    parameters=(*_OPENAI_ROWS, *_LOOKED_FOR),
    chat=True,
)
_LLAMA_CPP_PYTHON = Dialect(
    "llama-cpp-python",
    "/v1/completions",
    "openai",
    "max_tokens",
    probabilities={"logprobs": 5},
    parameters=(
        _P("temperature", "greedy", 1.0, 0.0, 0.8),
        _P("top_k", "greedy", 0, 1, 40, beyond=-1),
        _P("top_p", "greedy", 1.0, 1e-6, 0.95, beyond=1.5, bound=1.0),
        _P("min_p", "greedy", 0.0, 1.0, 0.05, beyond=-0.5, bound=0.0),
        _P("repeat_penalty", "spreads", 1.0, 4.0, 1.1, beyond=-1.0),
        _P("presence_penalty", "spreads", 0.0, 2.0, 0.0, beyond=9.0, bound=2.0),
        _P("frequency_penalty", "spreads", 0.0, 2.0, 0.0, beyond=9.0, bound=2.0),
        _P("mirostat_mode", "changes", 0, 2, 0, beyond=7),
        _P("mirostat_tau", "changes", None, 0.5, 5.0, also={"mirostat_mode": 2}),
        _P("mirostat_eta", "changes", None, 0.9, 0.1, also={"mirostat_mode": 2}),
        _P("logit_bias", "forces", None, {TOKEN: 100}, wrong=5),
        _P("seed", "seed", None, 7),
        _P("max_tokens", "length", None, 5, 16, beyond=-5),
        _P("min_tokens", "moves", 0, 8, 0, also={"logit_bias": {EOS: 100}}, beyond=-5),
        _P("stop", "stops", None, [WORD], wrong=5),
        _P("grammar", "shape", None, 'root ::= "abacus"', beyond="root ::= (", wrong=5),
    ),
)
_MLX_LM = Dialect(
    "mlx-lm",
    "/v1/completions",
    "openai",
    "max_tokens",
    probabilities={"logprobs": True, "top_logprobs": 5},
    drawn={"logprobs": True},
    parameters=(
        _P("temperature", "greedy", 1.0, 0.0, 0.0, beyond=-1.0),
        _P("top_k", "greedy", 0, 1, 0, beyond=-1),
        _P("top_p", "greedy", 1.0, 1e-6, 1.0, beyond=1.5, bound=1.0),
        _P("min_p", "greedy", 0.0, 1.0, 0.0, beyond=-0.5, bound=0.0),
        _P("repetition_penalty", "spreads", 0.0, 4.0, 0.0, beyond=-1.0),
        _P("repetition_context_size", "spreads", None, 64, 20, also={"repetition_penalty": 4.0}),
        _P("presence_penalty", "spreads", 0.0, 8.0, 0.0),
        _P("frequency_penalty", "spreads", 0.0, 8.0, 0.0),
        _P("xtc_probability", "changes", 0.0, 1.0, 0.0, also={"xtc_threshold": 1e-4}, beyond=1.5),
        _P("logit_bias", "forces", None, {TOKEN: 100}, wrong=5),
        _P("seed", "seed", None, 7),
        _P("max_tokens", "length", None, 5, 512, beyond=-5),
        _P("stop", "stops", None, [WORD], wrong=5),
    ),
)
_ONLY_EOS = {"logit_bias": {EOS: 100}, "skip_special_tokens": False}  # else no text shows it
_VLLM = Dialect(
    "vllm",
    "/v1/completions",
    "openai",
    "max_tokens",
    probabilities={"logprobs": 5},
    drawn={"return_token_ids": True, "return_tokens_as_token_ids": True},
    temperature_first=True,
    parameters=(
        _P("temperature", "greedy", 1.0, 0.0, 1.0, beyond=-1.0),
        _P("top_p", "greedy", 1.0, 1e-6, 1.0, beyond=1.5, bound=1.0),
        _P("top_k", "greedy", 0, 1, 0, beyond=-5),
        _P("min_p", "greedy", 0.0, 1.0, 0.0, beyond=-0.5, bound=0.0),
        _P("presence_penalty", "spreads", 0.0, 2.0, 0.0, beyond=9.0, bound=2.0),
        _P("frequency_penalty", "spreads", 0.0, 2.0, 0.0, beyond=9.0, bound=2.0),
        _P("repetition_penalty", "spreads", 1.0, 4.0, 1.0, beyond=-1.0),
        _P("logit_bias", "forces", None, {TOKEN: 100}, wrong=5),
        _P("seed", "seed", None, 7),
        _P("max_tokens", "length", None, 5, 16, beyond=-5),
        _P("min_tokens", "moves", 0, 8, 0, also={"logit_bias": {EOS: 100}}, beyond=-5),
        _P("ignore_eos", "moves", False, True, False, also=_ONLY_EOS),
        _P("stop", "stops", None, [WORD], wrong=5),
    ),
)
_OLLAMA = Dialect(
    "ollama",
    "/api/generate",
    "ollama",
    "num_predict",
    group="options",
    always={"raw": True, "stream": False},
    parameters=(
        _P("temperature", "greedy", 1.0, 0.0, 0.8),
        _P("top_k", "greedy", 0, 1, 40),
        _P("top_p", "greedy", 1.0, 1e-6, 0.9, beyond=1.5, bound=1.0),
        _P("min_p", "greedy", 0.0, 1.0, 0.0, beyond=-0.5, bound=0.0),
        _P("repeat_penalty", "spreads", 1.0, 4.0, 1.1, beyond=-1.0),
        _P("repeat_last_n", "spreads", 0, 64, 64, -2, also={"repeat_penalty": 4.0}, alone=True),
        _P("seed", "seed", None, 7),
        _P("num_predict", "length", None, 5, -1, beyond=-5),
        _P("stop", "stops", [], [WORD], wrong=5),
    ),
)

DIALECTS: dict[str, Dialect] = {
    row.name: row
    for row in (
        *(_LLAMA_SERVER, _OPENAI, _OPENAI_CHAT, _VLLM, _OLLAMA),
        *(_LLAMA_CPP_PYTHON, _MLX_LM),
    )
}
