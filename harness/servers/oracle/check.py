"""Every token of a server on the golden model, predicted.

A chain is honoured where all its requests come to the reference's texts: of llama-server token by
token, of one that names no tokens byte by byte. The first that differs is told with its place.
"""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.servers.client import Answer, Client, Prompt
from sampler_parity.harness.servers.http import Failure
from sampler_parity.harness.servers.oracle.chains import Request, requests
from sampler_parity.harness.servers.oracle.decoder import Followed, Logits
from sampler_parity.harness.servers.oracle.generate import Expected, Pipeline, expected
from sampler_parity.harness.servers.oracle.model import Known


@dataclass(frozen=True)
class Predicted:
    """Which pipeline predicts a server on a model that we have. each: requests of a chain."""

    pipeline: Pipeline
    known: Known
    chains: Mapping[str, Mapping[str, Any]]
    each: int


@dataclass(frozen=True)
class _Asked:
    """want: None where nothing was predicted: the server failed, or `lost` says why."""

    request: Request
    got: Answer | Failure
    want: Expected | None = None
    lost: str = ""

    @property
    def differs(self) -> str:
        """Where the answer leaves what was expected; "" where it does not."""
        got, want = self.got, self.want
        if isinstance(got, Failure):
            return got.line
        if got.refusal:
            return f"refused: {got.refusal}"
        return difference(got, want) if want else f"not predicted: llama.cpp {self.lost}"


def difference(got: Answer, want: Expected) -> str:
    """Where an answer leaves what was expected; "" where it does not."""
    if got.tokens is not None and got.tokens != want.tokens:
        pairs = zip((*got.tokens, None), (*want.tokens, None), strict=False)
        at, (token, other) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
        return f"token {at} is {token}, expected {other}"
    text = want.text.decode(errors="replace")
    if got.text.rstrip("�") != text.rstrip("�"):  # a character cut in two
        return f"text {json.dumps(got.text)}, expected {json.dumps(text)}"
    return ""


def check_exact(client: Client, predicted: Predicted) -> Iterator[ServerResult]:
    """A result for each chain. Raises InputError without the golden model, or its llama.cpp."""
    known = predicted.known
    asked = requests(predicted.each, client.dialect.length, predicted.chains, known.prompts)
    with closing(known.logits()) as logits, ThreadPoolExecutor(1) as pool:
        waiting = [  # the server answers while the reference samples
            (request, pool.submit(_answer, client, known.sent(request.prompt), request))
            for request in asked
        ]
        try:
            for chain, members in groupby(waiting, key=lambda pair: pair[0].chain):
                judged = [_judged(*pair, client, predicted, logits) for pair in members]
                yield _result(client, chain, judged)
        finally:
            pool.shutdown(cancel_futures=True)


def _answer(client: Client, prompt: Prompt, request: Request) -> Answer | Failure:
    try:
        return client.complete(prompt, request.parameters)
    except Failure as failure:
        return failure


def _judged(
    request: Request,
    future: "Future[Answer | Failure]",
    client: Client,
    predicted: Predicted,
    logits: Logits,
) -> _Asked:
    got = future.result()
    if isinstance(got, Failure) or got.refusal:
        return _Asked(request, got)
    vocab, prompt = predicted.known.vocab, predicted.known.read(request.prompt)
    length = int(request.parameters[client.dialect.length])
    guess = vocab.tokenize(got.text.encode()) if got.tokens is None else got.tokens
    text_of = Followed(logits, prompt, guess[: length - 1])
    try:
        want = expected(predicted.pipeline, request.parameters, length, text_of, vocab, got.tokens)
    except BackendFailure as failure:
        return _Asked(request, got, lost=str(failure))
    return _Asked(request, got, want)


def _result(client: Client, chain: str, asked: list[_Asked]) -> ServerResult:
    wrong = [one for one in asked if one.differs]
    shown = (wrong or asked)[0]
    tokens = sum(len(one.want.tokens) for one in asked if one.want)
    said = f"{len(asked) - len(wrong)}/{len(asked)} requests as the reference, {tokens:,} tokens"
    failed = any(one.want is None for one in wrong)
    return ServerResult(
        id=f"exact/{chain}",
        server="",
        group="exact",
        name=chain,
        verdict="error" if failed else "other meaning" if wrong else "honoured",
        evidence=said + (f"; {shown.request.id}: {shown.differs}" if wrong else ""),
        sent=json.dumps(shown.got.sent, ensure_ascii=False),
        got=shown.got.got if isinstance(shown.got, Answer) else shown.got.line,
        curl=client.curl(shown.got.sent),
        requests=len(asked),
        tokens=tokens,
    )
