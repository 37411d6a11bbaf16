"""Every token of a server on the golden model, predicted.

A chain is honoured where all its requests come to the reference's texts: of llama-server token by
token, of one that names no tokens byte by byte. The first that differs is told with its place.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.servers.asking import Answer, Client, Prompt
from sampler_parity.harness.servers.chains import Request, requests
from sampler_parity.harness.servers.expected import Expected, Pipeline, expected
from sampler_parity.harness.servers.http import Failure
from sampler_parity.harness.servers.logits import Logits
from sampler_parity.reference.vocab import Vocab


@dataclass(frozen=True)
class Predicted:
    """Which pipeline predicts a server, and on which logits. each: requests of a chain.
    spelled: prompts are sent as text."""

    pipeline: Pipeline
    logits: Callable[[], Logits]
    chains: Mapping[str, Mapping[str, Any]]
    each: int
    spelled: bool = False


@dataclass(frozen=True)
class _Asked:
    request: Request
    got: Answer | Failure
    want: Expected

    @property
    def differs(self) -> str:
        """Where the answer leaves what was expected; "" where it does not."""
        got, want = self.got, self.want
        if isinstance(got, Failure):
            return got.line
        if got.refusal:
            return f"refused: {got.refusal}"
        if got.tokens is not None and got.tokens != want.tokens:
            pairs = zip((*got.tokens, None), (*want.tokens, None), strict=False)
            at, (token, other) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
            return f"token {at} of {len(want.tokens)} is {token}, expected {other}"
        text = want.text.decode(errors="replace")
        if got.text.rstrip("�") != text.rstrip("�"):  # a character cut in two
            return f"text {json.dumps(got.text)}, expected {json.dumps(text)}"
        return ""


def check_exact(client: Client, predicted: Predicted) -> Iterator[ServerResult]:
    """A result for each chain. Raises InputError without the golden model, or its llama.cpp."""
    vocab = read_vocab(model_path(GOLDEN))
    logits = predicted.logits()
    try:
        with ThreadPoolExecutor(1) as pool:  # the server answers while the reference samples
            waiting = [
                (request, pool.submit(_answer, client, _prompt(request, vocab, predicted), request))
                for request in requests(predicted.each, client.dialect.length, predicted.chains)
            ]
            try:
                for chain, members in groupby(waiting, key=lambda pair: pair[0].chain):
                    asked = [_judged(pair, client, predicted, logits, vocab) for pair in members]
                    yield _result(client, chain, asked)
            finally:
                pool.shutdown(cancel_futures=True)
    finally:
        logits.close()


def _prompt(request: Request, vocab: Vocab, predicted: Predicted) -> Prompt:
    if not predicted.spelled:
        return request.prompt
    pieces = b"".join(vocab.piece(token, special=False) for token in request.prompt)
    return pieces.decode(errors="ignore")


def _answer(client: Client, prompt: Prompt, request: Request) -> Answer | Failure:
    try:
        return client.complete(prompt, request.parameters)
    except Failure as failure:
        return failure


def _judged(
    pair: tuple[Request, "Future[Answer | Failure]"],
    client: Client,
    predicted: Predicted,
    logits: Logits,
    vocab: Vocab,
) -> _Asked:
    request, future = pair
    prompt = request.prompt
    if predicted.spelled:
        text = _prompt(request, vocab, predicted)
        assert isinstance(text, str)
        prompt = [request.prompt[0], *vocab.tokenize(text.encode())]
    length = int(request.parameters[client.dialect.length])
    want = expected(predicted.pipeline, request.parameters, length, prompt, logits, vocab)
    return _Asked(request, future.result(), want)


def _result(client: Client, chain: str, asked: list[_Asked]) -> ServerResult:
    wrong = [one for one in asked if one.differs]
    shown = (wrong or asked)[0]
    tokens = sum(len(one.want.tokens) for one in asked)
    said = f"{len(asked) - len(wrong)}/{len(asked)} requests as the reference, {tokens:,} tokens"
    failed = any(isinstance(one.got, Failure) or one.got.refusal for one in wrong)
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
