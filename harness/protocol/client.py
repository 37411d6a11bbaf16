"""Send requests to a backend: one function for each request of the protocol.

Each checks what hello claims, writes the rows into the scratch file, reserves space behind them,
sends the request, and checks that the reply fits it. It returns arrays, copied from the scratch
file, which are valid until the next request. All raise BackendFailure: `unsupported` for what hello
does not claim, `crashed` for a reply that breaks the protocol, which ends the backend.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Dtype, narrowed
from sampler_parity.harness.protocol.interface import Backend, BackendFailure, NotAsked, Unclaimed
from sampler_parity.harness.protocol.measured import Measured

Row = NDArray[np.float32]
Detail = Literal["stages", "token"]
UNWRITTEN = -(2**31)  # in the table, before the backend writes it
P = ParamSpec("P")
T = TypeVar("T")
G = TypeVar("G", p.GenerateReply, p.SequencesReply)

# How a message describes a backend without a capability.
_WITHOUT = {
    "run": "samples only while it decodes",
    "batch": "takes no batch",
    "draws": "no draws",
    "time": "times nothing",
    "uniforms": "takes no uniforms",
    "origin": "does not distinguish the prompt from the output",
    "decode": "decodes no model",
    "generate": "decodes no model",
    "capture": "captures no logits",
    "devices": "asks no devices",
    "speculative": "verifies no drafts",
    "throughput": "decodes no sequences for timing",
    "sequences": "decodes no sequences that join and leave",
    "skip_ratio": "has no native chain to put a trie into: use llama.cpp, llama.cpp@BUILD or "
    "llama.cpp@BUILD:DEVICE",
}


@dataclass(frozen=True)
class Setting:
    """A chain that has accepted a history. vocab: path of a GGUF file with the vocabulary.

    n_prompt: how many tokens of the history are the prompt's; 0 if no sampler of the chain treats
    them differently. dtype: of the rows, which are float32 values of that format; a backend that
    does not take it gets float32. in_tokens: the chain for a backend without vocabularies; empty if
    there is none.
    """

    chain: p.ChainSpec
    n_vocab: int
    vocab: str | None = None
    history: list[int] = field(default_factory=list)
    n_prompt: int = 0
    dtype: Dtype = "float32"
    in_tokens: p.ChainSpec = field(default_factory=list)

    def fields(self, backend: Backend) -> dict[str, Any]:
        """Return the fields of the requests run, draws and time, as the backend reads them."""
        unsent = ("n_prompt", "dtype", "in_tokens")
        fields = {k: value for k, value in vars(self).items() if k not in unsent}
        if self.in_tokens and "no_vocab" in backend.hello().capabilities:
            fields |= {"chain": self.in_tokens, "vocab": None}
        return fields


@dataclass(slots=True)
class Got:
    """A backend's candidates after a stage. sorted is None if the backend does not report it."""

    ids: NDArray[np.int32]
    logits: NDArray[np.float32]
    p: NDArray[np.float32]
    sorted: bool | None
    selected: int

    def copy(self) -> "Got":
        arrays = (self.ids.copy(), self.logits.copy(), self.p.copy())
        return Got(*arrays, self.sorted, self.selected)

    @property
    def token(self) -> int | None:
        return int(self.ids[self.selected]) if 0 <= self.selected < len(self.ids) else None


@dataclass(frozen=True)
class Ran:
    """The selected token of each step, or None; and step by step the candidates of each stage.

    settled: the caller knows the stages by their table; then there are none here.
    """

    tokens: list[int | None]
    stages: list[list[Got]]
    ns: int
    settled: bool = False

    def copy(self) -> "Ran":
        """Return the same in arrays of its own."""
        stages = [[got.copy() for got in step] for step in self.stages]
        return Ran(self.tokens, stages, self.ns, self.settled)


# Returns whether all is known. Arguments: the tokens, the number of stages of a step, the table
# int32[stages, 3], and the candidates of all.
Settles = Callable[[list[int | None], int, NDArray[np.int32], NDArray[np.int32]], bool]


@dataclass(frozen=True)
class DrawnTokens:
    tokens: NDArray[np.int32]
    ns: int


@dataclass(frozen=True)
class GeneratedRows(Generic[G]):
    """rows: float32[n_tokens, n_vocab], what each token was sampled from. handed_back: of each
    token, what the stages in the graph left; None for a backend that does not sample there."""

    reply: G
    rows: Row
    handed_back: list[Got] | None


def claim(backend: Backend, capability: str, chain: p.ChainSpec | None = None) -> p.HelloReply:
    """Return the hello. Raises Unclaimed if it lacks the capability or a sampler of the chain."""
    hello = backend.hello()
    if capability not in hello.capabilities:
        raise Unclaimed(_WITHOUT[capability])
    missing = sorted({name for stage in chain or [] for name in stage} - set(hello.samplers))
    lacking = [name for name in missing if name not in hello.uncallable]
    if lacking:
        raise Unclaimed(f"no sampler {', '.join(lacking)}")
    if missing:
        raise BackendFailure("unsupported", hello.uncallable[missing[0]])
    return hello


def asked_again(function: Callable[P, T]) -> Callable[P, T]:
    """Repeat the whole call if the process broke before the request: rows may be lost."""

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except NotAsked:
            return function(*args, **kwargs)

    return asked


@dataclass(frozen=True)
class RunCall:
    """Steps to take on rows. whole_chain: as one more stage, the chain as one object, where it is
    claimed. settles: asked about a table, before it is cut into stages."""

    setting: Setting
    rows: Sequence[Row]
    steps: list[p.Step]
    instances: int = 1
    detail: Detail = "stages"
    whole_chain: bool = True
    settles: Settles | None = None

    @property
    def most_bytes(self) -> int:
        """Return how many bytes behind its rows the backend may write."""
        return 12 * self.setting.n_vocab * (len(self.setting.chain) + 1) * len(self.steps)

    def check(self, backend: Backend) -> None:
        """Raise BackendFailure if the backend does not claim what it needs."""
        claim(backend, "run", self.setting.chain)
        if self.setting.n_prompt:
            claim(backend, "origin")

    def placed(
        self, backend: Backend, claims: Sequence[str], at: int = 0
    ) -> tuple[p.RunRequest, int]:
        """Write the rows into the scratch file from a byte offset on, and reserve space behind
        them. Return the request and the offset behind all."""
        placed, out = put(backend, self.rows, self.setting.n_vocab, self.setting.dtype, at)
        whole_chain = self.whole_chain and self.detail == "stages" and "whole_chain" in claims
        whole_chain = whole_chain and "no_stages" not in claims
        table, n_stages = None, self._shown(claims, whole_chain)
        if n_stages and "table" in claims:
            blank_rows = np.full(3 * n_stages * len(self.steps), UNWRITTEN, np.int32)
            table, out = out, backend.scratch.write(out, blank_rows)
        backend.scratch.ensure(out + self.most_bytes)
        request = p.RunRequest(
            **self.setting.fields(backend),
            n_prompt=self.setting.n_prompt,
            rows=placed,
            steps=self.steps,
            instances=self.instances,
            detail=self.detail,
            whole_chain=whole_chain,
            table=table,
            out=out,
        )
        return request, out + self.most_bytes

    def _shown(self, claims: Sequence[str], whole_chain: bool) -> int:
        """Return how many stages of each step the backend shows."""
        stages = len(self.setting.chain) + whole_chain if self.detail == "stages" else 0
        return min(1, stages) if "no_stages" in claims else stages

    def ran(
        self, backend: Backend, claims: Sequence[str], request: p.RunRequest, reply: p.RunReply
    ) -> Ran:
        """Return what the backend did. Raises BackendFailure if the reply does not fit."""
        steps, n_vocab, table = self.steps, self.setting.n_vocab, request.table
        expected = self._shown(claims, request.whole_chain)
        listed = expected and table is None
        if len(reply.tokens) != len(steps) or (
            listed and [len(stages) for stages in reply.stages] != [expected] * len(steps)
        ):
            raise backend.violation("the reply has the wrong number of steps or stages")
        if table is not None:
            listing = _table(backend, table, expected * len(steps), n_vocab)
            values = written(backend, request.out, 3 * int(listing[:, 0].sum()), np.int32)
            settles = self.settles
            if settles is not None and settles(reply.tokens, expected, listing, values):
                return Ran(reply.tokens, [], reply.ns, settled=True)
            got = _cut(values, listing.tolist())
            shown_stages = [[next(got) for _ in range(expected)] for _ in steps]
            return Ran(reply.tokens, shown_stages, reply.ns)
        stages = reply.stages if expected else [[] for _ in steps]
        return Ran(reply.tokens, shown(backend, stages, request.out, n_vocab), reply.ns)


@asked_again
def one(backend: Backend, run: RunCall) -> Ran:
    """Execute the steps of a run."""
    run.check(backend)
    claims = backend.hello().capabilities
    request, _ = run.placed(backend, claims)
    return run.ran(backend, claims, request, backend.ask(request, p.RunReply))


def _with_fields(make: Callable[P, RunCall]) -> Callable[Concatenate[Backend, P], Ran]:
    def run(backend: Backend, /, *fields: P.args, **more: P.kwargs) -> Ran:
        return one(backend, make(*fields, **more))

    return run


run = _with_fields(RunCall)


@asked_again
def many(backend: Backend, runs: Sequence[RunCall]) -> list[Ran | BackendFailure]:
    """Execute the steps of all runs in one request. Returns the failure of a run that the backend
    refuses. The caller has checked that it claims `many` and the runs."""
    requests: list[p.RunRequest] = []
    end, claims = 0, backend.hello().capabilities
    for run in runs:
        request, end = run.placed(backend, claims, end)
        requests.append(request)
    replies = backend.ask(p.ManyRequest(runs=requests), p.ManyReply).replies
    if len(replies) != len(runs):
        raise backend.violation(f"{len(replies)} replies to {len(runs)} runs")
    return [
        run.ran(backend, claims, request, reply)
        if isinstance(reply, p.RunReply)
        else BackendFailure(reply.kind, reply.message)
        for run, request, reply in zip(runs, requests, replies, strict=True)
    ]


def _table(backend: Backend, table: int, count: int, n_vocab: int) -> NDArray[np.int32]:
    """Return n, sorted and selected of each stage: int32[count, 3]."""
    rows = written(backend, table, 3 * count, np.int32).reshape(count, 3)
    n, is_sorted = rows[:, 0], rows[:, 1]
    wrong = (n < 0) | (n > n_vocab) | (is_sorted < -1) | (is_sorted > 1)
    if wrong.any():
        first = rows[wrong.argmax()].tolist()
        row = "n {}, sorted {}, selected {}".format(*first)
        raise backend.violation(f"invalid stage of {n_vocab} tokens in the table: {row}")
    return rows


def shown(backend: Backend, stages: list[p.Stages], out: int, n_vocab: int) -> list[list[Got]]:
    """Return the candidates after each stage of each step of a reply."""
    size = backend.scratch.size()
    for stage in (stage for step in stages for stage in step):
        if not _inside(size, stage):
            raise backend.violation("the reply points outside the scratch file")
        if stage.at < out:
            raise backend.violation(f"a stage lies at byte {stage.at}, before out, {out}")
        if stage.n > n_vocab:
            problem = f"a stage has {stage.n} candidates, the vocabulary {n_vocab} tokens"
            raise backend.violation(problem)
    got = iter(_got(backend, [stage for step in stages for stage in step]))
    return [[next(got) for _ in step] for step in stages]


@asked_again
def draws(
    backend: Backend,
    setting: Setting,
    row: Row,
    n: int,
    *,
    filters_once: bool = False,
    uniforms: NDArray[np.float64] | None = None,
) -> DrawnTokens:
    """Draw n tokens from the same state. uniforms: to draw with."""
    claim(backend, "draws", setting.chain)
    if uniforms is not None:
        claim(backend, "uniforms")
    placed, end = put(backend, [row], setting.n_vocab, setting.dtype)
    out = at = end + -end % 8
    if uniforms is not None:
        out = backend.scratch.write(at, uniforms)
    backend.scratch.ensure(out + 4 * n)
    request = p.DrawsRequest(
        **setting.fields(backend),
        rows=placed,
        n=n,
        out=out,
        filters_once=filters_once,
        uniforms=None if uniforms is None else at,
    )
    reply = backend.ask(request, p.DrawsReply)
    return DrawnTokens(written(backend, out, n, np.int32), reply.ns)


@asked_again
def time(backend: Backend, setting: Setting, row: Row, repetitions: int) -> p.TimeReply:
    """Return the nanoseconds of each application of the chain to the row."""
    claim(backend, "time", setting.chain)
    placed, _ = put(backend, [row], setting.n_vocab, setting.dtype)
    request = p.TimeRequest(**setting.fields(backend), rows=placed, repetitions=repetitions)
    reply = backend.ask(request, p.TimeReply)
    if len(reply.ns) != repetitions or min(reply.ns) < 0:
        raise backend.violation(f"expected {repetitions} times, each at least 0: {reply.ns[:5]}")
    return reply


@asked_again
def decode(backend: Backend, model: str, n_vocab: int, tokens: list[int]) -> Row:
    """Return the logits after every token: float32[len(tokens), n_vocab]. rejected: not all."""
    claim(backend, "decode")
    blank(backend, len(tokens) * n_vocab)
    request = p.DecodeRequest(model=model, n_vocab=n_vocab, tokens=tokens, out=0)
    backend.ask(request, p.DecodeReply)
    return written_logits(backend, len(tokens), n_vocab, "after token")


@asked_again
def tokenize(backend: Backend, model: str, texts: list[str]) -> p.TokenizeReply:
    """Return the tokens of each text, and the model's facts."""
    claim(backend, "capture")
    request = p.TokenizeRequest(model=model, texts=texts)
    reply = backend.ask(request, p.TokenizeReply)
    if len(reply.tokens) != len(texts):
        raise backend.violation(f"tokens of {len(reply.tokens)} texts, asked for {len(texts)}")
    return reply


@asked_again
def capture(backend: Backend, request: p.CaptureRequest) -> Row:
    """Return the logits at the positions. NaN if the model gives it, or one is missing."""
    claim(backend, "capture")
    n = len(request.positions)
    blank(backend, n * request.n_vocab)
    backend.ask(request.model_copy(update={"out": 0}), p.CaptureReply)
    rows: Row = written(backend, 0, n * request.n_vocab, np.float32)
    return rows.reshape(n, request.n_vocab)


@asked_again
def devices(backend: Backend) -> list[p.Device]:
    """Return the devices of a build, and which of them run here."""
    claim(backend, "devices")
    return backend.ask(p.DevicesRequest(), p.DevicesReply).devices


@asked_again
def generate(backend: Backend, request: p.GenerateRequest) -> GeneratedRows[p.GenerateReply]:
    """Return the tokens, and the logits they were sampled from. rejected: a row is missing."""
    hello = claim(backend, "generate", request.chain)
    return generated(backend, hello, request, p.GenerateReply, "of step")


def generated(
    backend: Backend,
    hello: p.HelloReply,
    request: p.GenerateRequest | p.SequencesRequest,
    kind: type[G],
    where: str,
) -> GeneratedRows[G]:
    """Return the tokens of a request, and the logits. where: of a missing row, for its message."""
    n = request.n_tokens
    blank(backend, n * request.n_vocab)
    if "in_graph" in hello.capabilities:
        backend.scratch.ensure((4 + 12) * n * request.n_vocab)
    reply = backend.ask(request.model_copy(update={"out": 0}), kind)
    handed_back = _handed_back(backend, hello, request.n_vocab, n, reply)
    return GeneratedRows(reply, written_logits(backend, n, request.n_vocab, where), handed_back)


def _handed_back(
    backend: Backend, hello: p.HelloReply, n_vocab: int, n: int,
    reply: p.GenerateReply | p.SequencesReply,
) -> list[Got] | None:  # fmt: skip
    """Return what the graph handed back for each of n tokens, if it samples; check the tokens."""
    if len(reply.tokens) != n:
        raise backend.violation(f"{len(reply.tokens)} tokens in the reply, asked for {n}")
    unknown = [token for token in reply.tokens if not 0 <= token < n_vocab]
    if unknown:
        raise backend.violation(f"token {unknown[0]} is not in the vocabulary")
    if "in_graph" not in hello.capabilities:
        return None
    stages, size = reply.handed_back, backend.scratch.size()
    fit = (1 <= s.n <= n_vocab and _inside(size, s) for s in stages)
    if len(stages) != n or not all(fit):
        raise backend.violation("the graph's candidates are missing for a token")
    return _got(backend, stages)


@asked_again
def throughput(backend: Backend, request: p.ThroughputRequest) -> p.ThroughputReply:
    """Return the nanoseconds of decoding many sequences at once, step by step."""
    hello = claim(backend, "throughput", request.chain)
    reply = backend.ask(request, p.ThroughputReply)
    if not len(reply.sample_ns) == len(reply.decode_ns) == request.n_tokens:
        raise backend.violation(f"the reply must have times of {request.n_tokens} steps")
    lengths = [len(tokens) for tokens in reply.tokens]
    if (reply.tokens or hello.protocol > 1) and lengths != [request.sequences] * request.n_tokens:
        problem = f"each step must have a token of each of the {request.sequences} sequences"
        raise backend.violation(problem)
    return reply


@asked_again
def skip_ratio(backend: Backend, request: p.SkipRatioRequest, timeout_s: float) -> Measured:
    """Measure what a token trie saves. timeout_s: longer than that of other requests."""
    claim(backend, "skip_ratio")
    measured = backend.ask(request, p.SkipRatioReply, timeout_s).measured
    spans = request.rounds * len(request.prompts)
    if (measured.pairs, measured.leaves) != (spans, len(request.leaves)):
        raise backend.violation(f"expected {spans} spans among {len(request.leaves)} leaves")
    return measured


def put(
    backend: Backend, rows: Sequence[Row], n: int, dtype: Dtype = "float32", at: int = 0
) -> tuple[p.Rows, int]:
    """Write rows into the scratch file, in this format if the backend takes it. Return them and the
    offset behind them."""
    if dtype != "float32" and dtype not in backend.hello().dtypes:
        dtype = "float32"
    end = backend.scratch.write(at, *[narrowed(row, dtype) for row in rows])
    return p.Rows(at=at, count=len(rows), n=n, dtype=dtype), end + -end % 4


def blank(backend: Backend, n: int) -> None:
    """Write n NaN: logits that the backend does not write must not pass for a row."""
    backend.scratch.write(0, np.full(n, np.nan, np.float32))


def written_logits(backend: Backend, count: int, n_vocab: int, where: str) -> Row:
    rows: Row = written(backend, 0, count * n_vocab, np.float32).reshape(count, n_vocab)
    bad = np.flatnonzero(np.isnan(rows).any(axis=1))
    if len(bad):
        problem = f"the logits {where} {bad[0]} are missing or have a NaN"
        raise BackendFailure("rejected", problem)
    return rows


def written(backend: Backend, at: int, n: int, dtype: Any) -> NDArray[Any]:
    """Return a copy, which later changes of the file do not reach."""
    values = backend.scratch.read(at, n, dtype)
    if len(values) < n:
        raise backend.violation("the scratch file was truncated")
    return values


def _inside(size: int, stage: p.StageResult) -> bool:
    return stage.at >= 0 and stage.n >= 0 and stage.at + 12 * stage.n <= size


def _got(backend: Backend, stages: p.Stages) -> list[Got]:
    """Return the candidates of stages. Those that lie one behind the other are read at once."""
    runs: list[p.Stages] = []
    end = -1
    for stage in stages:
        if stage.at != end:
            runs.append([])
        runs[-1].append(stage)
        end = stage.at + 12 * stage.n
    return [got for run in runs for got in _got_of_run(backend, run)]


def _got_of_run(backend: Backend, run: p.Stages) -> Iterator[Got]:
    values = written(backend, run[0].at, 3 * sum(stage.n for stage in run), np.int32)
    flags = {True: 1, False: 0, None: -1}
    return _cut(values, [(stage.n, flags[stage.sorted], stage.selected) for stage in run])


def _cut(values: NDArray[np.int32], stages: Iterable[tuple[int, int, int]]) -> Iterator[Got]:
    """Yield stages that lie one behind the other, by n, sorted (-1: not known) and selected."""
    floats, at = values.view(np.float32), 0
    for n, is_sorted, selected in stages:
        ids, logits, end = values[at : at + n], floats[at + n : at + 2 * n], at + 3 * n
        flag = None if is_sorted < 0 else bool(is_sorted)
        yield Got(ids, logits, floats[at + 2 * n : end], flag, selected)
        at = end
