"""The adapter protocol: what the harness and a backend process say to each other.

One JSON object a line: requests on the backend's stdin, replies on its stdout. Arrays do not travel
in JSON: they lie in a scratch file that both sides map, as raw little-endian values, named by byte
offset. docs/adapter-protocol.md is the specification for authors of adapters; the JSON Schema in
harness/schemas/ is made from these models (`sampler-parity lint` checks that it is up to date).

Numbers that JSON lacks are strings: "inf", "-inf", "nan".
"""

import json
import math
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, FailFast, Field

from sampler_parity.harness.protocol.dtypes import Dtype
from sampler_parity.harness.protocol.measured import OfTrie
from sampler_parity.harness.protocol.sequences import SequencesRequest as SequencesRequest
from sampler_parity.harness.strict import Strict

PROTOCOL_VERSION = 2
SPOKEN = (1, 2)  # what the harness and its workers understand


class Message(Strict):
    """Hold a request, a reply or a part of one."""


ChainSpec = list[dict[str, dict[str, Any]]]

# In replies. FailFast: of a list that is wrong, the first mistake is enough.
Words = Annotated[str, Field(max_length=4096)]
Tokens = Annotated[list[int], FailFast()]
Times = Annotated[list[int], FailFast()]


class Numbered(Message):
    """number: of a request, for a backend that claims `numbers`; its reply repeats it."""

    number: int | None = None


class HelloRequest(Numbered):
    """First request. The scratch file lies at this path for the life of the process."""

    do: Literal["hello"] = "hello"
    protocol: int = PROTOCOL_VERSION
    scratch: str


class HelloReply(Numbered):
    """protocol: the version that the backend speaks. One that does not say speaks version 1.
    dtypes: of rows that it takes, for `run`, `batch`, `draws` and `time`; float32 is always one.

    samplers: those that it can be asked for. uncallable: those that it has and that cannot be asked
    for, each with the reason. platform: of a build for another one, its row in reference/platforms.
    """

    ok: Literal[True] = True
    protocol: int = 1
    name: Words
    version: Words
    build: Words = ""
    device: Words = "cpu"
    platform: Words = ""
    capabilities: Annotated[
        list[
            Literal[
                "run", "draws", "time", "decode", "generate", "throughput", "skip_ratio",
                "in_graph", "whole_chain", "uniforms", "devices", "capture", "no_stages",
                "numbers", "batch", "origin", "sequences", "speculative",
            ]
        ],
        FailFast(),
    ]  # fmt: skip
    samplers: Annotated[list[Words], FailFast()]
    uncallable: dict[Words, Words] = {}
    dtypes: Annotated[list[Dtype], FailFast()] = ["float32"]


class Step(Message):
    """One step: operations first, then the chain is applied to a row, then a token is accepted.

    before: ["reset", i] resets instance i, ["clone", i] appends a clone of it to the instances.
    accept: a token id, "selected" for the token that the chain selected, or null for none.
    """

    row: int = Field(ge=0)
    instance: int = Field(default=0, ge=0)
    before: list[tuple[Literal["reset", "clone"], int]] = []
    accept: int | Literal["selected"] | None = "selected"


class Rows(Message):
    """count rows of n logits at a byte offset of the scratch file. dtype: of those that hello says
    it takes; left out where it is float32."""

    at: int = Field(ge=0)
    count: int = Field(ge=0)
    n: int = Field(ge=0)
    dtype: Dtype = "float32"


class RunRequest(Numbered):
    """Build the chain, accept the history, take the steps.

    With detail "stages" the backend writes the candidates after every stage of every step to the
    scratch file from `out` on: ids int32[n], logits float32[n], p float32[n], one after the other.
    whole_chain asks for one more stage in each step: the result of applying the chain as one
    object, if the backend has such a thing. A backend that has nothing else claims no_stages and
    writes the candidates after the whole chain alone. vocab is the path of a GGUF file or null.
    """

    do: Literal["run"] = "run"
    chain: ChainSpec
    n_vocab: int
    vocab: str | None = None
    rows: Rows
    history: list[int] = []
    n_prompt: int = Field(
        default=0, ge=0, description="how many of the history are the prompt's, for `origin`"
    )
    steps: list[Step]
    instances: int = Field(default=1, ge=1)
    detail: Literal["stages", "token"] = "stages"
    whole_chain: bool = False
    out: int = Field(ge=0)


class StageResult(Message):
    """The candidates after a stage, at a byte offset of the scratch file."""

    at: int
    n: int
    sorted: bool | None = None
    selected: int = -1


Stages = Annotated[list[StageResult], FailFast()]


class RunReply(Numbered):
    """tokens: the selected token of each step or null. stages: step by step, stage by stage."""

    ok: Literal[True] = True
    tokens: Annotated[list[int | None], FailFast()]
    stages: Annotated[list[Stages], FailFast()] = []
    ns: int = Field(default=0, description="nanoseconds inside the backend's own sampler calls")


Place = Annotated[int, Field(ge=0)]
Operation = (
    tuple[Literal["join", "leave", "clone", "reset"], Place] | tuple[Literal["swap"], Place, Place]
)


class BatchSequence(Message):
    """A chain and what it has accepted when it joins: the prompt, then the output so far."""

    chain: ChainSpec
    prompt: list[int] = []
    output: list[int] = []


class Sampled(Message):
    """The live row at a place samples from a row of logits. accept: as of a step of `run`."""

    at: Place
    row: Place
    accept: int | Literal["selected"] | None = "selected"


class BatchStep(Message):
    """Operations first, one after the other; then these live rows sample, and each accepts.

    ["join", s] appends sequence s as a new row, ["leave", i] takes the row at place i out and those
    behind it move up by one, ["clone", i] appends a copy of row i in its state, ["swap", i, j]
    exchanges two rows, ["reset", i] resets the chain of row i as `run` does. Each place is the
    one at that moment. No row samples twice in a step; rows that are not named do not sample.
    """

    before: list[Operation] = []
    sample: list[Sampled] = []


class BatchRequest(Numbered):
    """Start with no live row and take the steps. detail, vocab, out: as in `run`."""

    do: Literal["batch"] = "batch"
    n_vocab: int
    vocab: str | None = None
    rows: Rows
    sequences: list[BatchSequence]
    steps: list[BatchStep]
    detail: Literal["stages", "token"] = "stages"
    out: int = Field(ge=0)


RowTokens = Annotated[list[int | None], FailFast()]
RowStages = Annotated[list[Stages], FailFast()]


class BatchReply(Numbered):
    """Of each step and each row that sampled in it, in the order of `sample`: the selected token or
    null, and the candidates after each stage of its chain."""

    ok: Literal[True] = True
    tokens: Annotated[list[RowTokens], FailFast()]
    stages: Annotated[list[RowStages], FailFast()] = []
    ns: int = Field(default=0, description="nanoseconds inside the backend's own sampler calls")


class DrawsRequest(Numbered):
    """n tokens, each drawn from the same row by the same chain without accepting; int32 at out.

    filters_once: nothing but the draw of the last stage differs from draw to draw, so all else may
    be done once. It gives the same tokens as applying everything.
    uniforms: byte offset of float64[n], to be used in place of the last stage's own random numbers
    (capability "uniforms").
    """

    do: Literal["draws"] = "draws"
    chain: ChainSpec
    n_vocab: int
    vocab: str | None = None
    rows: Rows
    history: list[int] = []
    n: int = Field(gt=0)
    out: int = Field(ge=0)
    filters_once: bool = False
    uniforms: int | None = Field(default=None, ge=0)


class DrawsReply(Numbered):
    ok: Literal[True] = True
    ns: int = 0


class TimeRequest(Numbered):
    """Apply the chain to fresh candidates `repetitions` times and time each application."""

    do: Literal["time"] = "time"
    chain: ChainSpec
    n_vocab: int
    vocab: str | None = None
    rows: Rows
    history: list[int] = []
    repetitions: int = Field(gt=0)


class TimeReply(Numbered):
    """ns: of each application, without the making of candidates, which setup_ns holds."""

    ok: Literal[True] = True
    ns: Times
    setup_ns: Times = []


class DecodeRequest(Numbered):
    """Decode tokens with a model, in one batch, from an empty context.

    The logits after every position are written at `out`: float32[len(tokens), n_vocab].
    """

    do: Literal["decode"] = "decode"
    model: str = Field(description="path of a GGUF file")
    n_vocab: int
    tokens: list[int] = Field(min_length=1)
    out: int = Field(ge=0)


class DecodeReply(Numbered):
    ok: Literal[True] = True


class TokenizeRequest(Numbered):
    """Token ids of texts: special tokens parsed, begin-of-text added as the model says."""

    do: Literal["tokenize"] = "tokenize"
    model: str = Field(description="path of a GGUF file")
    texts: list[str]


class TokenizeReply(Numbered):
    """tokens: of each text; none where the model makes none of it. n_context: as it was trained."""

    ok: Literal[True] = True
    tokens: Annotated[list[Tokens], FailFast()]
    n_vocab: int = Field(gt=0)
    n_context: int


class CaptureRequest(Numbered):
    """Decode tokens with a model one at a time, by so many threads, from an empty context.

    The logits after the tokens at `positions`, which rise, are written at `out`:
    float32[len(positions), n_vocab]. n_context: how many tokens the context is made for.
    """

    do: Literal["capture"] = "capture"
    model: str = Field(description="path of a GGUF file")
    n_vocab: int
    tokens: list[int] = Field(min_length=1)
    positions: list[int] = Field(min_length=1)
    n_context: int = Field(gt=0)
    threads: int = Field(gt=0)
    out: int = Field(ge=0)


class CaptureReply(Numbered):
    ok: Literal[True] = True


class DevicesRequest(Numbered):
    """Which devices of a build run here. The build is an argument of the backend's command."""

    do: Literal["devices"] = "devices"


class Device(Message):
    """about: a GPU's name, or why the device does not run here."""

    name: Words
    runs: bool
    about: Words = ""


class DevicesReply(Numbered):
    ok: Literal[True] = True
    devices: Annotated[list[Device], FailFast()]


class GenerateRequest(Numbered):
    """Decode a prompt with a model, then n_tokens times: sample, accept, decode.

    The chain accepts the prompt first. Generation does not stop at an end-of-text token. The logits
    that each token was sampled from are written at `out`: float32[n_tokens, n_vocab].
    """

    do: Literal["generate"] = "generate"
    model: str = Field(description="path of a GGUF file; its vocabulary is the chain's, too")
    n_vocab: int
    chain: ChainSpec
    prompt: list[int] = Field(min_length=1)
    n_tokens: int = Field(gt=0)
    out: int = Field(ge=0)


class GenerateReply(Numbered):
    ok: Literal[True] = True
    tokens: Tokens
    ns: int = Field(default=0, description="nanoseconds inside the backend's own sampler calls")
    in_graph: int = Field(default=0, description="how many of the first stages ran in the graph")
    handed_back: Stages = Field(
        default=[], description="of each step, what the stages in the graph left"
    )


class ThroughputRequest(Numbered):
    """Decode with a model as many sequences at once as asked for, and time the parts.

    Each sequence has a chain of its own, which accepts the prompt. The prompt of all sequences is
    decoded in one batch. Then n_tokens times: sample and accept a token of each sequence, decode
    the tokens of all of them in one batch.
    """

    do: Literal["throughput"] = "throughput"
    model: str = Field(description="path of a GGUF file; its vocabulary is the chain's, too")
    n_vocab: int
    chain: ChainSpec
    prompt: list[int] = Field(min_length=1)
    n_tokens: int = Field(gt=0)
    sequences: int = Field(gt=0)


class ThroughputReply(Numbered):
    """Nanoseconds. sample_ns, decode_ns: of each step, all sequences together.

    tokens: of each step, of each sequence; version 1 may leave them out. in_graph: how many of the
    first stages ran in the model's graph.
    """

    ok: Literal[True] = True
    prompt_ns: int
    sample_ns: Times
    decode_ns: Times
    tokens: Annotated[list[Tokens], FailFast()] = []
    in_graph: int = 0


class SequencesReply(Numbered):
    """tokens: in the order in which they were sampled; those forced, too.

    in_graph: of each text, how many of its first stages ran in the graph. handed_back: of each
    token, what these left.
    """

    ok: Literal[True] = True
    tokens: Tokens
    ns: int = Field(default=0, description="nanoseconds inside the backend's own sampler calls")
    in_graph: Annotated[list[int], FailFast()] = []
    handed_back: Stages = []


class SkipRatioRequest(Numbered):
    """Generate one of the leaves after each prompt, held to them by a token trie and by a grammar.

    Each prompt in each way, rounds times, in an order drawn from the seed; one round more warms up.
    delay_ms: what every forward pass is made to take longer, as with a larger model.
    """

    do: Literal["skip_ratio"] = "skip_ratio"
    model: str = Field(description="path of a GGUF file")
    leaves: list[str] = Field(min_length=1, description="the texts to choose from")
    prompts: list[str] = Field(min_length=1)
    rounds: int = Field(gt=0)
    seed: int = Field(ge=0)
    delay_ms: float = Field(default=0, ge=0)


class SkipRatioReply(Numbered):
    ok: Literal[True] = True
    measured: OfTrie


class SpeculativeRequest(Numbered):
    """n rounds of speculative sampling on the same rows, each with drafts and a seed of its own.

    rows: drafted + 1 rows of the target's logits. In each round a fresh chain accepts the history;
    every seed of it is the round's. The chain is applied to a row, and knows the tokens accepted
    before. rule: `rejection` of the drafted tokens, or `matching` them with what is sampled.
    draft_rows: byte offset of float32[drafted, n_vocab], what the drafts were drawn from. drafts:
    of int32[n, drafted]; seeds: of uint32[n]; out: of int32[n, drafted + 1], the tokens of each
    round, -1 behind the last.
    """

    do: Literal["speculative"] = "speculative"
    rule: Literal["rejection", "matching"]
    chain: ChainSpec
    n_vocab: int
    vocab: str | None = None
    history: list[int] = []
    rows: Rows
    drafted: int = Field(gt=0)
    draft_rows: int = Field(ge=0)
    n: int = Field(gt=0)
    drafts: int = Field(ge=0)
    seeds: int = Field(ge=0)
    out: int = Field(ge=0)


class SpeculativeReply(Numbered):
    ok: Literal[True] = True
    ns: int = 0


class ByeRequest(Numbered):
    do: Literal["bye"] = "bye"


class ErrorReply(Numbered):
    """The backend goes on; this request had no result."""

    ok: Literal[False] = False
    kind: Literal["unsupported", "rejected"]
    message: str


Request = (
    HelloRequest
    | RunRequest
    | BatchRequest
    | DrawsRequest
    | TimeRequest
    | DecodeRequest
    | TokenizeRequest
    | CaptureRequest
    | DevicesRequest
    | GenerateRequest
    | ThroughputRequest
    | SequencesRequest
    | SkipRatioRequest
    | SpeculativeRequest
    | ByeRequest
)
Reply = (
    HelloReply
    | RunReply
    | BatchReply
    | DrawsReply
    | TimeReply
    | DecodeReply
    | TokenizeReply
    | CaptureReply
    | DevicesReply
    | GenerateReply
    | ThroughputReply
    | SequencesReply
    | SkipRatioReply
    | SpeculativeReply
)

_REQUESTS: dict[str, type[Request]] = {
    model.model_fields["do"].default: model for model in get_args(Request)
}


def request_of(data: Any) -> Request:
    """The request that a line of JSON is. Raises ValueError.

    Its `do` names the model that validates it: for a union pydantic would build them all.
    """
    do = data.get("do") if isinstance(data, dict) else None
    if not isinstance(do, str) or do not in _REQUESTS:
        raise ValueError(f"do is {do!r}, and none of {', '.join(_REQUESTS)}")
    return _REQUESTS[do].model_validate(data)


def plain(value: Any) -> Any:
    """JSON data with non-finite numbers as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


# What a text, or a list of texts, may stand in, of a request or a chain: there "nan" is a word and
# no number.
TEXTS = frozenset(
    [
        "scratch", "vocab", "model", "texts", "leaves", "prompts", "seq_breakers", "grammar_str",
        "grammar_root", "trigger_words", "trigger_patterns", "trie_descriptor_json", "path",
        "model_id",
    ]
)  # fmt: skip


def numbers(value: Any) -> Any:
    """The inverse of plain, for what is no text."""
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, dict):
        return {key: item if _text(key, item) else numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return value


def _text(key: str, item: Any) -> bool:
    """The texts of a request about sequences are no such list: each has a chain. Breakers of dry
    may be none, or lists of tokens, beside texts."""
    texts = item if isinstance(item, list) else [item]
    return key in TEXTS and not any(isinstance(text, dict) for text in texts)


def to_line(message: BaseModel) -> str:
    data = message.model_dump()
    if data.get("number", 0) is None:  # older backends may know no such key
        del data["number"]
    if data.get("n_prompt", 1) == 0:
        del data["n_prompt"]
    if isinstance(rows := data.get("rows"), dict) and rows.get("dtype") == "float32":
        del rows["dtype"]
    return json.dumps(plain(data), allow_nan=False, separators=(",", ":"))
