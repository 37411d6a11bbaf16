"""Compare every token of a server on a known model with the oracle's.

A chain is honoured if all its requests give the reference's texts: token by token, or byte by byte
if a server names no tokens. The evidence has the place of the first difference.
"""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby

from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.observation import Observation, result_of
from sampler_parity.programs.servers.oracle.chains import ChainRequest, requests
from sampler_parity.programs.servers.oracle.decoder import ModelLogits
from sampler_parity.programs.servers.oracle.generate import ExpectedText, Oracle
from sampler_parity.programs.servers.oracle.model import KnownModel
from sampler_parity.programs.servers.server_record import ServerResult


@dataclass(frozen=True)
class _Compared:
    """A comparison. want: None if nothing was predicted. differs: first difference, or ""."""

    id: str
    got: Answer | ServerFailure
    differs: str
    want: ExpectedText | None = None


def difference(got: Answer, want: ExpectedText) -> str:
    """Return where an answer leaves what was expected; "" where it does not."""
    if got.tokens is not None and got.tokens != want.tokens:
        pairs = zip((*got.tokens, None), (*want.tokens, None), strict=False)
        at, (token, expected) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
        return f"token {at} is {token}, expected {expected}"
    text = want.text.decode(errors="replace")
    if got.text.rstrip("�") != text.rstrip("�"):  # a character cut in two
        return f"text {json.dumps(got.text)}, expected {json.dumps(text)}"
    return ""


def check_tokens(client: Client, oracle: Oracle) -> Iterator[ServerResult]:
    """Return a result for each chain. Raises InputError if nothing decodes the model."""
    model = oracle.model
    chain_requests = requests(oracle.per_chain, client.dialect.length, oracle.chains, model.prompts)
    with closing(model.logits()) as logits, ThreadPoolExecutor(1) as pool:
        # One request at a time, while the reference samples the one before.
        waiting = [
            (request, pool.submit(_asked, client, model, request)) for request in chain_requests
        ]
        try:
            for chain, members in groupby(waiting, key=lambda pair: pair[0].chain):
                compared = [_compare(*pair, oracle, logits) for pair in members]
                yield _result(client, chain, compared)
        finally:
            pool.shutdown(cancel_futures=True)


def _asked(client: Client, model: KnownModel, request: ChainRequest) -> Answer:
    """Ask while the reference samples. A stream does not name all tokens of a character."""
    ask = client.streamed if request.streamed else client.complete
    got = ask(model.prompt_as_sent(request.prompt), request.parameters)
    cut = request.streamed and not got.text.isascii()
    return replace(got, tokens=None) if cut else got


def _compare(
    request: ChainRequest, future: "Future[Answer]", oracle: Oracle, logits: ModelLogits
) -> _Compared:
    try:
        got = future.result()
    except ServerFailure as failure:
        return _Compared(request.id, failure, failure.line)
    if got.refusal:
        return _Compared(request.id, got, f"refused: {got.refusal}")
    prompt = oracle.model.prompt_as_read(request.prompt)
    try:
        want = oracle.predict(logits, prompt, request.parameters, got)
    except BackendFailure as failure:
        return _Compared(request.id, got, f"not predicted: llama.cpp {failure}")
    return _Compared(request.id, got, difference(got, want), want)


def _result(client: Client, chain: str, compared: list[_Compared]) -> ServerResult:
    wrong = [comparison for comparison in compared if comparison.differs]
    example = (wrong or compared)[0]
    tokens = sum(len(comparison.want.tokens) for comparison in compared if comparison.want)
    evidence = f"{len(compared) - len(wrong)}/{len(compared)} requests as the reference"
    evidence += f", {tokens:,} tokens" + (f"; {example.id}: {example.differs}" if wrong else "")
    failed = any(comparison.want is None for comparison in wrong)
    answer = example.got if isinstance(example.got, Answer) else Answer(example.got.sent)
    observed = Observation(
        "error" if failed else "other meaning" if wrong else "honoured", evidence, answer
    )
    update = {"requests": len(compared), "tokens": tokens}
    result = result_of(client, "exact", chain, observed, limit=None).model_copy(update=update)
    return (
        result.model_copy(update={"got": example.differs}) if answer is not example.got else result
    )
