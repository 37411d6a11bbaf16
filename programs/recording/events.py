"""The events of a recording: one JSON line each, in the order in which they happened.

Samplers, models and contexts are named by their address in the program ("0x55..."). An address is
used again after `free`. `d` is the depth of calls inside calls: a chain that is cloned clones its
members at depth 1.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from sampler_parity.harness.strict import STRICT
from sampler_parity.programs.recording.detail import Detail

Address = Annotated[str, Field(pattern=r"^0x[0-9a-f]{1,16}$")]
Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Unsigned40 = Annotated[int, Field(ge=0, lt=2**40)]
Form = Literal["logits", "pairs", "full", "some", "none"]

_BY_NAME = ConfigDict(**STRICT, populate_by_name=True)


class Array(BaseModel):
    """Candidates: how many, and where they stand.

    form: `logits` is float32[n], ids are 0 to n - 1. `pairs` is int32[n] ids, float32[n] logits.
    `full` is the same and float32[n] p. `some`: as `pairs`, of `listed` tokens that were accepted
    or biased, of a list in vocabulary order. `none`: they are only counted. at: the number of the
    file of arrays, and the byte offset. sum: of every stride-th candidate from offset on
    (format.sum_of).
    sorted: None for a mask, which has no order: it lists the tokens above -inf, by id.
    """

    model_config = STRICT

    n: int = Field(ge=0, le=2**24)
    sorted: bool | None = False
    selected: int = -1
    form: Form = "none"
    listed: int = Field(default=0, ge=0, le=2**24)
    at: tuple[Unsigned40, Unsigned40] | None = None
    sum: str = ""
    stride: int = Field(default=1, ge=1)
    offset: int = Field(default=0, ge=0)


class StageArray(Array):
    """The candidates after the stage of a sampler. s: its address."""

    s: Address


class _Event(BaseModel):
    """t: milliseconds since the recording of this process began. th: a small number for each
    thread. d: depth of nested calls."""

    model_config = _BY_NAME

    t: int = 0
    th: int = 0
    d: int = 0


class Start(_Event):
    """The first event. v: version of the format. time: seconds since 1970. parent, parent_bytes: of
    a fork, the recorded process that it is a copy of, and the size of its events then."""

    e: Literal["start"] = "start"
    v: int = 1
    pid: int
    program: str
    detail: Detail
    text: bool
    time: float
    parent: int = 0
    parent_bytes: int = 0


class Library(_Event):
    """A libllama that the program uses. version, build, system: as the library reports them."""

    e: Literal["library"] = "library"
    path: str
    version: str | None = None
    build: int = 0
    system: str = ""


class Vocabulary(_Event):
    """A vocabulary. file: next to the events, "" with --no-text. digest: CRC-32 of the pieces."""

    e: Literal["model"] = "model"
    m: Address
    n_vocab: int
    file: str = Field(default="", pattern=r"^[\w.-]*$")  # nothing outside the folder
    path: str = ""
    digest: str = ""


class OfContext(_Event):
    """A context is seen for the first time. m: its vocabulary."""

    e: Literal["context"] = "context"
    ctx: Address
    m: Address


class Init(_Event):
    """A sampler is constructed. sampler: llama.cpp's name, None for one of the program's own, whose
    name is then `name`. s: 0x0 if the initializer returned NULL. args: as llama.h names them."""

    e: Literal["init"] = "init"
    s: Address
    sampler: str | None = None
    symbol: str = ""
    name: str = ""
    args: dict[str, Any] = {}


class DrawnSeed(_Event):
    """A sampler without a seed of its own has drawn one: at its construction, or at a reset."""

    e: Literal["seed"] = "seed"
    s: Address
    seed: int = Field(ge=0, lt=2**64)  # of an engine; libllama's have 32 bits


class MadeChain(_Event):
    """A chain is constructed."""

    e: Literal["chain"] = "chain"
    s: Address


class Add(_Event):
    """A sampler becomes the last of a chain. name: what it calls itself."""

    e: Literal["add"] = "add"
    c: Address
    s: Address
    name: str = ""


class Remove(_Event):
    """A sampler leaves a chain, which no longer owns it. i: its place. s: 0x0 if there was none."""

    e: Literal["remove"] = "remove"
    c: Address
    i: int
    s: Address


class Clone(_Event):
    """A sampler with its state is copied into a new one."""

    e: Literal["clone"] = "clone"
    origin: Address = Field(alias="from")
    s: Address


class Copy(_Event):
    """The state of a sampler is copied over that of another."""

    e: Literal["copy"] = "copy"
    origin: Address = Field(alias="from")
    to: Address


class Free(_Event):
    e: Literal["free"] = "free"
    s: Address


class Reset(_Event):
    e: Literal["reset"] = "reset"
    s: Address


class Accept(_Event):
    """A sampler, or a chain with all of its members, accepts a token."""

    e: Literal["accept"] = "accept"
    s: Address
    token: Int32


class PromptTokens(_Event):
    """A chain takes in the tokens of a prompt."""

    e: Literal["prompt"] = "prompt"
    s: Address
    tokens: list[Int32]


class OfEngine(_Event):
    """An engine in Python that the program imports, with its version."""

    e: Literal["engine"] = "engine"
    name: str
    version: str = ""


class Decode(_Event):
    """A batch is decoded. tokens, pos, seq: of each token, seq a list where it is in several; out:
    the rows that have logits. at: the place of the first token, where a batch takes several lines.
    result: llama_decode's."""

    e: Literal["decode"] = "decode"
    ctx: Address
    tokens: list[Int32] = []
    pos: list[int] = []
    seq: list[int | list[int]] = []
    out: list[int] = []
    at: int = 0
    result: int = 0


class Removed(_Event):
    """The text of a sequence is removed from a context. seq: below 0 for all."""

    e: Literal["removed"] = "removed"
    ctx: Address
    seq: int


class Apply(_Event):
    """A sampler or a chain is applied. Written when it is done.

    q: number of the apply in its process. ctx, i: the row of logits that the thread read last.
    stages: one for each member of a chain. token: the selected one, or -1; p: its probability.
    ns: time of the sampler; rec_ns: of the recorder. dropped: the disk was too slow for the
    candidates.
    """

    e: Literal["apply"] = "apply"
    q: int
    s: Address
    ctx: Address | None = None
    i: int | None = None
    before: Array
    stages: list[StageArray] = []
    after: Array = Array(n=0)  # --detail tokens has none
    token: Int32 = -1
    p: float = 0.0
    ns: int = 0
    rec_ns: int = 0
    dropped: bool = False


class SamplerOfSequence(_Event):
    """A sampler becomes part of the graph of a sequence (llama_set_sampler)."""

    e: Literal["sampler_of_sequence"] = "sampler_of_sequence"
    ctx: Address
    seq: int
    s: Address | None


class InGraph(_Event):
    """A token that the graph sampled is read (llama_get_sampled_token_ith). p: the probability that
    the graph gave it, if it keeps any."""

    e: Literal["sampled"] = "sampled"
    ctx: Address
    i: int
    token: Int32
    p: float = 0.0


class Stopped(_Event):
    """The recorder stopped before the program did."""

    e: Literal["stopped"] = "stopped"
    why: str


class Aborted(_Event):
    """llama.cpp failed an assertion, or an exception was not caught. s: the sampler that was called
    then, None outside of samplers."""

    e: Literal["aborted"] = "aborted"
    why: str
    s: Address | None = None


class End(_Event):
    """The program ended, or its part of the recording."""

    e: Literal["end"] = "end"
    applies: int = 0
    rec_ns: int = 0


Event = Annotated[
    Start
    | Library
    | Vocabulary
    | OfContext
    | Init
    | DrawnSeed
    | MadeChain
    | Add
    | Remove
    | Clone
    | Copy
    | Free
    | Reset
    | Accept
    | PromptTokens
    | OfEngine
    | Decode
    | Removed
    | Apply
    | SamplerOfSequence
    | InGraph
    | Stopped
    | Aborted
    | End,
    Field(discriminator="e"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
