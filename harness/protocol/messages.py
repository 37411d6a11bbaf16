"""The adapter protocol: the messages between the harness and a backend process.

One JSON object a line: requests on the backend's stdin, replies on its stdout. Arrays lie in a
scratch file that both sides map, as raw little-endian values, named by byte offset.
docs/reference/protocol.md is the specification. `sampler-parity lint` compares the JSON Schema in
harness/schemas/ with these models.

Numbers that JSON lacks are strings: "inf", "-inf", "nan".
"""

import json
import math
import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, FailFast, Field

from sampler_parity.harness.protocol.arithmetic import Arithmetic, Dtype
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
    """number of the request, only for a backend that claims `numbers`; the reply repeats it"""


class Answer(Numbered):
    """The reply to a request that had a result."""

    ok: Literal[True] = True


class HelloRequest(Numbered):
    """First request. The scratch file lies at this path for the life of the process."""

    do: Literal["hello"] = "hello"
    protocol: int = PROTOCOL_VERSION
    """version of the protocol that the harness speaks"""
    scratch: str
    """path of the scratch file, valid for the life of the process"""


class HelloReply(Answer):
    """protocol: the version that the backend speaks, by default 1. dtypes: of rows that it takes,
    for `run`, `batch`, `draws` and `time`; float32 is always one.

    samplers: those that it can be asked for. uncallable: those that it has and that cannot be asked
    for, each with the reason. platform: of a build for another one, its row in reference/platforms.
    """

    protocol: int = 1
    """version of the protocol that the backend speaks"""
    name: Words
    """name of the implementation"""
    version: Words
    """its version"""
    build: Words = ""
    """its build, for example a commit"""
    device: Words = "cpu"
    """the device that it computes on"""
    platform: Words = ""
    """the platform of the build, by its name in reference/platforms; empty: x86-64 Linux"""
    capabilities: Annotated[
        list[
            Literal[
                "run", "draws", "time", "decode", "generate", "throughput", "skip_ratio",
                "in_graph", "whole_chain", "uniforms", "devices", "capture", "no_stages",
                "no_vocab", "numbers", "table", "many", "batch", "origin", "sequences",
                "speculative",
            ]
        ],
        FailFast(),
    ]  # fmt: skip
    """the requests and options that the backend supports; `run` is required"""
    samplers: Annotated[list[Words], FailFast()]
    """the samplers that the harness can ask for, under llama.cpp's names"""
    uncallable: dict[Words, Words] = {}
    """samplers that the backend has but cannot run, each with the reason"""
    dtypes: Annotated[list[Dtype], FailFast()] = ["float32"]
    """formats of rows that the backend takes for `run`, `batch`, `draws` and `time`"""
    arithmetic: Arithmetic = Arithmetic()
    """formats and sums that it computes with; by default float32, with sums in any order"""
    random: Literal["mt19937", "own"] = "mt19937"
    """its random numbers: those of llama.cpp for each seed, or `own`"""


class Step(Message):
    """One step: operations first, then the chain is applied to a row, then a token is accepted.

    before: ["reset", i] resets instance i, ["clone", i] appends a clone of it to the instances.
    accept: a token id, "selected" for the token that the chain selected, or null for none.
    """

    row: int = Field(ge=0)
    """index of the row of logits"""
    instance: int = Field(default=0, ge=0)
    """index of the chain that samples"""
    before: list[tuple[Literal["reset", "clone"], int]] = []
    """operations first: `["reset", i]` resets instance i, `["clone", i]` appends a clone of it"""
    accept: int | Literal["selected"] | None = "selected"
    """token to accept afterwards: an id, the selected token, or none"""


class Rows(Message):
    """count rows of n logits at a byte offset of the scratch file. dtype: one that hello names;
    left out for float32."""

    at: int = Field(ge=0)
    """byte offset in the scratch file"""
    count: int = Field(ge=0)
    """number of rows"""
    n: int = Field(ge=0)
    """logits of a row"""
    dtype: Dtype = "float32"
    """format of the values; one of the backend's `dtypes`"""


class RunRequest(Numbered):
    """Build the chain, accept the history, take the steps.

    With detail "stages" the backend writes the candidates after every stage of every step to the
    scratch file, from `out` on, one after the other. Each has ids int32[n], logits float32[n], p
    float32[n]. whole_chain asks for one more stage in each step: the result of applying the chain
    as one object, if the backend has such a thing. A backend that has nothing else claims no_stages
    and writes the candidates after the whole chain alone. vocab is the path of a GGUF file or null.
    With a table the stages lie one behind the other from `out` on, and the reply lists none.
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
    """the steps to take, one after the other"""
    instances: int = Field(default=1, ge=1)
    """how many equal chains to build"""
    detail: Literal["stages", "token"] = "stages"
    whole_chain: bool = False
    """add one stage to each step: the chain applied as one object to fresh candidates"""
    table: int | None = Field(
        default=None, ge=0, description="byte offset for a table of the stages, for `table`"
    )
    out: int = Field(ge=0)


class StageResult(Message):
    """The candidates after a stage, at a byte offset of the scratch file."""

    at: int
    """byte offset in the scratch file"""
    n: int
    """number of candidates left"""
    sorted: bool | None = None
    """whether the candidates are known to be sorted; null without such a flag"""
    selected: int = -1
    """index of the selected candidate, or -1"""


Stages = Annotated[list[StageResult], FailFast()]


class RunReply(Answer):
    """tokens: the selected token of each step or null. stages: step by step, stage by stage."""

    tokens: Annotated[list[int | None], FailFast()]
    """the selected token of each step, or null"""
    stages: Annotated[list[Stages], FailFast()] = []
    """candidates after each stage of each step"""
    ns: int = Field(default=0, description="nanoseconds inside the backend's own sampler calls")


Place = Annotated[int, Field(ge=0)]
Operation = (
    tuple[Literal["join", "leave", "clone", "reset"], Place] | tuple[Literal["swap"], Place, Place]
)


class BatchSequence(Message):
    """A chain and what it has accepted when it joins: the prompt, then the output so far."""

    chain: ChainSpec
    prompt: list[int] = []
    """tokens to accept first"""
    output: list[int] = []
    """tokens to accept after the prompt"""


class BatchSample(Message):
    """The live row at a place samples from a row of logits. accept: as of a step of `run`."""

    at: Place
    """place of the row in the list of live rows"""
    row: Place
    """index of the row of logits"""
    accept: int | Literal["selected"] | None = "selected"
    """token to accept afterwards, as in a step of `run`"""


class BatchStep(Message):
    """Operations first, one after the other; then these live rows sample, and each accepts.

    - ["join", s] appends sequence s as a new row.
    - ["leave", i] takes the row at place i out; those behind it move up by one.
    - ["clone", i] appends a copy of row i in its state.
    - ["swap", i, j] exchanges two rows.
    - ["reset", i] resets the chain of row i as `run` does.

    Each place is the one at that moment. No row samples twice in a step; rows that are not named do
    not sample.
    """

    before: list[Operation] = []
    """operations on the list of live rows, in this order"""
    sample: list[BatchSample] = []
    """the live rows that sample at once"""


class BatchRequest(Numbered):
    """Start with no live row and take the steps. detail, vocab, out: as in `run`."""

    do: Literal["batch"] = "batch"
    n_vocab: int
    vocab: str | None = None
    rows: Rows
    sequences: list[BatchSequence]
    """the sequences that may join"""
    steps: list[BatchStep]
    """the steps to take, one after the other"""
    detail: Literal["stages", "token"] = "stages"
    out: int = Field(ge=0)


RowTokens = Annotated[list[int | None], FailFast()]
RowStages = Annotated[list[Stages], FailFast()]


class BatchReply(Answer):
    """Results for each step and each row that sampled in it, in the order of `sample`: the selected
    token or null, and the candidates after each stage of its chain."""

    tokens: Annotated[list[RowTokens], FailFast()]
    """for each step and each row that sampled, the selected token or null"""
    stages: Annotated[list[RowStages], FailFast()] = []
    """for each step and row, the candidates after each stage of its chain"""
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
    """number of tokens to draw"""
    out: int = Field(ge=0)
    filters_once: bool = False
    """only the draw of the last stage differs from draw to draw"""
    uniforms: int | None = Field(default=None, ge=0)
    """byte offset of float64[n], to use in place of your own random numbers"""


class DrawsReply(Answer):
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
    """how often to apply the chain to fresh candidates"""


class TimeReply(Answer):
    """ns: of each application, without the making of candidates, which setup_ns holds."""

    ns: Times
    """nanoseconds of each application, without making the candidates"""
    setup_ns: Times = []
    """nanoseconds of making the candidates, for each application"""


class DecodeRequest(Numbered):
    """Decode tokens with a model, in one batch, from an empty context.

    The logits after every position are written at `out`: float32[len(tokens), n_vocab].
    """

    do: Literal["decode"] = "decode"
    model: str = Field(description="path of a GGUF file")
    n_vocab: int
    tokens: list[int] = Field(min_length=1)
    """tokens to decode in one batch"""
    out: int = Field(ge=0)


class DecodeReply(Answer):
    pass


class TokenizeRequest(Numbered):
    """Token ids of texts: special tokens parsed, begin-of-text added if the model asks for it."""

    do: Literal["tokenize"] = "tokenize"
    model: str = Field(description="path of a GGUF file")
    texts: list[str]
    """texts to tokenize"""


class TokenizeReply(Answer):
    """tokens: of each text; none where the model makes none of it. n_context: as it was trained."""

    tokens: Annotated[list[Tokens], FailFast()]
    """token ids of each text; an empty list if the model makes none"""
    n_vocab: int = Field(gt=0)
    n_context: int
    """context size that the model was trained with"""


class CaptureRequest(Numbered):
    """Decode tokens with a model one at a time, by so many threads, from an empty context.

    The logits after the tokens at `positions`, which rise, are written at `out`:
    float32[len(positions), n_vocab]. n_context: how many tokens the context is made for.
    """

    do: Literal["capture"] = "capture"
    model: str = Field(description="path of a GGUF file")
    n_vocab: int
    tokens: list[int] = Field(min_length=1)
    """tokens to decode, one at a time"""
    positions: list[int] = Field(min_length=1)
    """positions whose logits are written, in rising order"""
    n_context: int = Field(gt=0)
    """tokens that the context has space for"""
    threads: int = Field(gt=0)
    """number of threads that decode"""
    out: int = Field(ge=0)


class CaptureReply(Answer):
    pass


class DevicesRequest(Numbered):
    """Which devices of a build run here. The build is an argument of the backend's command."""

    do: Literal["devices"] = "devices"


class Device(Message):
    """about: a GPU's name, or why the device does not run here."""

    name: Words
    """name of the device in `-b llama.cpp@BUILD:DEVICE`"""
    runs: bool
    """whether it runs on this machine"""
    about: Words = ""
    """name of a GPU, or the reason why the device does not run"""


class DevicesReply(Answer):
    devices: Annotated[list[Device], FailFast()]
    """the devices of the build"""


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


class GenerateReply(Answer):
    tokens: Tokens
    """the generated tokens"""
    ns: int = Field(default=0, description="nanoseconds inside the backend's own sampler calls")
    in_graph: int = Field(default=0, description="how many of the first stages ran in the graph")
    handed_back: Stages = Field(
        default=[], description="of each step, what the stages in the graph left"
    )
    """for each step, the candidates after the stages in the graph"""


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
    """how many sequences to decode at once"""


class ThroughputReply(Answer):
    """Nanoseconds. sample_ns, decode_ns: of each step, all sequences together.

    tokens: of each step, of each sequence; version 1 may leave them out. in_graph: how many of the
    first stages ran in the model's graph.
    """

    prompt_ns: int
    """nanoseconds for the prompts"""
    sample_ns: Times
    """nanoseconds of sampling in each step, all sequences together"""
    decode_ns: Times
    """nanoseconds of decoding in each step, all sequences together"""
    tokens: Annotated[list[Tokens], FailFast()] = []
    """the tokens of each sequence, step by step; optional in version 1"""
    in_graph: int = 0
    """how many of the first stages ran in the model's graph"""


class SequencesReply(Answer):
    """tokens: in the order in which they were sampled; those forced, too.

    in_graph: of each text, how many of its first stages ran in the graph. handed_back: of each
    token, what these left.
    """

    tokens: Tokens
    """tokens in the order of sampling, the forced ones included"""
    ns: int = Field(default=0, description="nanoseconds inside the backend's own sampler calls")
    in_graph: Annotated[list[int], FailFast()] = []
    """for each text, how many of its first stages ran in the graph"""
    handed_back: Stages = []
    """for each token, the candidates after these stages"""


class SkipRatioRequest(Numbered):
    """Generate one of the leaves after each prompt, held to them by a token trie and by a grammar.

    Each prompt in each way, rounds times, in an order drawn from the seed; one round more warms up.
    delay_ms: what every forward pass is made to take longer, as with a larger model.
    """

    do: Literal["skip_ratio"] = "skip_ratio"
    model: str = Field(description="path of a GGUF file")
    leaves: list[str] = Field(min_length=1, description="the texts to choose from")
    prompts: list[str] = Field(min_length=1)
    """texts; each is continued by one of the leaves"""
    rounds: int = Field(gt=0)
    """how often each prompt is continued in each way"""
    seed: int = Field(ge=0)
    """seed of the order"""
    delay_ms: float = Field(default=0, ge=0)
    """milliseconds added to each forward pass, as if the model were larger"""


class SkipRatioReply(Answer):
    measured: OfTrie
    """the figures, as in `Measured` of harness/schemas/protocol.schema.json"""


class SpeculativeRequest(Numbered):
    """n rounds of speculative sampling on the same rows, each with drafts and a seed of its own.

    rows: drafted + 1 rows of the target's logits. In each round a fresh chain accepts the history;
    every seed of it is the round's. The chain is applied to a row, and knows the tokens accepted
    before. rule: `rejection` of the drafted tokens, or `matching` them with the samples.
    draft_rows: byte offset of float32[drafted, n_vocab], what the drafts were drawn from; a draft
    with 0 there is rejected. drafts: of int32[n, drafted]; seeds: of uint32[n]; out: of int32[n,
    drafted + 1], the tokens of each round, -1 behind the last.
    """

    do: Literal["speculative"] = "speculative"
    rule: Literal["rejection", "matching"]
    """`rejection` of the drafted tokens, or `matching` them with sampled tokens"""
    chain: ChainSpec
    n_vocab: int
    vocab: str | None = None
    history: list[int] = []
    rows: Rows
    """`drafted` + 1 rows of the target's logits"""
    drafted: int = Field(gt=0)
    """drafted tokens of a round"""
    draft_rows: int = Field(ge=0)
    """byte offset of float32[drafted, n_vocab]: probabilities that the drafts were drawn from"""
    n: int = Field(gt=0)
    """number of rounds"""
    drafts: int = Field(ge=0)
    """byte offset of int32[n, drafted]: the drafted tokens"""
    seeds: int = Field(ge=0)
    """byte offset of uint32[n]: the seed of each round"""
    out: int = Field(ge=0)
    """byte offset for int32[n, drafted + 1]: tokens of each round, then -1"""


class SpeculativeReply(Answer):
    ns: int = 0


class ByeRequest(Numbered):
    do: Literal["bye"] = "bye"


class ErrorReply(Numbered):
    """The request had no result; the backend continues."""

    ok: Literal[False] = False
    kind: Literal["unsupported", "rejected"]
    """`unsupported`: the backend lacks it; `rejected`: it refuses the input"""
    message: str
    """the reason, for the report"""


class ManyRequest(Numbered):
    """Many runs, one after the other, each with its own places in the scratch file."""

    do: Literal["many"] = "many"
    runs: list[RunRequest]
    """the runs, each as a request of its own"""


class ManyReply(Answer):
    replies: Annotated[list[RunReply | ErrorReply], FailFast()]
    """a reply to each run, in their order"""


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
    | ManyRequest
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
    | ManyReply
)

_REQUESTS: dict[str, type[Request]] = {
    model.model_fields["do"].default: model for model in get_args(Request)
}


def request_of(data: Any) -> Request:
    """Return the request in a line of JSON. Raises ValueError. Its `do` names the model that
    validates it: for a union pydantic would build them all."""
    do = data.get("do") if isinstance(data, dict) else None
    if not isinstance(do, str) or do not in _REQUESTS:
        raise ValueError(f"unknown request {do!r} in `do`: use one of {', '.join(_REQUESTS)}")
    return _REQUESTS[do].model_validate(data)


# check_circular: data of a model contain no cycle.
_ENCODE = json.JSONEncoder(
    allow_nan=False, check_circular=False, separators=(",", ":"), default=vars
).encode


def plain(value: Any) -> Any:
    """Return JSON data with non-finite numbers as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, BaseModel):
        value = vars(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


# Fields of a request or a chain with a text or a list of texts: there "nan" is a word, no number.
TEXTS = frozenset(
    [
        "scratch", "vocab", "model", "texts", "leaves", "prompts", "seq_breakers", "grammar_str",
        "grammar_root", "trigger_words", "trigger_patterns", "trie_descriptor_json", "path",
        "model_id",
    ]
)  # fmt: skip


def data_of(line: bytes) -> Any:
    """Return the data of a request's JSON. Raises ValueError."""
    data = json.loads(line)
    return numbers(data) if _SPECIAL.search(line) else data


_SPECIAL = re.compile(rb'"-?inf"|"nan"|\\')  # or an escape, which may spell them


def numbers(value: Any) -> Any:
    """Return the inverse of `plain`, except in texts."""
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, dict):
        return {key: item if _text(key, item) else numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return value


def _text(key: str, item: Any) -> bool:
    """Return whether a field holds texts, or steps, in which no such number is. The texts of a
    request about sequences are tables, each with a chain. Breakers of dry may be none, or lists of
    tokens, too."""
    texts = item if isinstance(item, list) else [item]
    return key == "steps" or (key in TEXTS and not any(isinstance(text, dict) for text in texts))


def to_line(message: BaseModel, number: int | None = None) -> str:
    """Return the JSON of a message. number: of a request or of the one that a reply answers."""
    # model_dump would take longer than all the rest for the steps of a run
    data = dict(vars(message)) if isinstance(message, Message) else message.model_dump()
    if number is not None:
        data["number"] = number
    if data.get("number", 0) is None:  # older backends may know no such key
        del data["number"]
    if isinstance(message, ManyRequest | ManyReply):
        key = "runs" if isinstance(message, ManyRequest) else "replies"
        inner = ",".join(map(to_line, data.pop(key)))
        return f'{_ENCODE(data)[:-1]},"{key}":[{inner}]}}'
    if data.get("n_prompt", 1) == 0:
        del data["n_prompt"]
    if data.get("table", 0) is None:
        del data["table"]
    if isinstance(rows := data.get("rows"), Rows) and rows.dtype == "float32":
        data["rows"] = {"at": rows.at, "count": rows.count, "n": rows.n}
    try:
        return _ENCODE(data)
    except ValueError:  # a number that JSON lacks
        return _ENCODE(plain(data))
