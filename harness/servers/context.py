"""What a server does past its context, where each token is predicted.

Neither of the two that are predicted shifts it, as documented: a text ends with the context, and a
prompt that is longer is refused. Sources: tools/server/README.md of llama.cpp at v0.5.0
(`--context-shift`, off unless asked for); `Llama.create_completion` of llama-cpp-python 0.3.36.
"""

from collections.abc import Iterator
from contextlib import closing
from functools import partial

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.servers.client import Client
from sampler_parity.harness.servers.observation import NotComputed, Told, right_if, told
from sampler_parity.harness.servers.oracle.check import Predicted, difference
from sampler_parity.harness.servers.oracle.decoder import Followed, Logits
from sampler_parity.harness.servers.oracle.generate import expected
from sampler_parity.harness.servers.oracle.model import Known

_LEFT, _WANTED = 12, 64  # tokens that have a place behind the prompt; that are asked for
_ASKED = {"temperature": 0.0, "repeat_penalty": 1.0, "seed": 1}


def check_context(client: Client, predicted: Predicted, size: int) -> Iterator[ServerResult]:
    """size: tokens of the context of one text. Raises InputError where nothing decodes."""
    with closing(predicted.known.logits()) as logits:
        yield from told(
            "state", {"past the context": partial(_past, predicted, logits, size)}, client
        )


def _past(predicted: Predicted, logits: Logits, size: int, client: Client) -> Told:
    known, length = predicted.known, client.dialect.length
    several = [token for prompt in known.prompts.values() for token in prompt] * size
    prompt = _of_at_most(size - _LEFT, several, known)
    read = known.read(prompt)
    left = size - len(read)
    answer = client.complete(known.sent(prompt), {**_ASKED, length: _WANTED})
    guess = known.vocab.tokenize(answer.text.encode()) if answer.tokens is None else answer.tokens
    text_of = Followed(logits, read, guess[: left - 1])
    try:
        want = expected(predicted.pipeline, _ASKED, left, text_of, known.vocab, answer.tokens)
    except BackendFailure as failure:
        raise NotComputed(str(failure), answer) from None
    said = f"{len(read)} tokens of {size} are the prompt, {_WANTED} are asked for"
    if wrong := answer.refusal or difference(answer, want):
        return right_if(False, "", f"{said}: {wrong}", answer)
    too_long = client.complete(known.sent(several[: 2 * size]), {**_ASKED, length: 1})
    right = f"{said}, {left} come, each as predicted; a prompt that is longer is refused"
    return right_if(
        bool(too_long.refusal), right, f"{2 * size} tokens are taken as a prompt", answer
    )


def _of_at_most(size: int, tokens: list[int], known: Known) -> list[int]:
    """The longest beginning that the server reads as so many tokens or fewer."""
    return next(tokens[:n] for n in range(size, 0, -1) if len(known.read(tokens[:n])) <= size)
