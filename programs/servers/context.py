"""Check a server's behaviour past its context, for servers whose every token is predicted.

Neither of these two servers shifts the context, as documented: a text ends with the context, and a
longer prompt is refused. Sources: tools/server/README.md of llama.cpp at v0.5.0 (`--context-shift`,
off by default); `Llama.create_completion` of llama-cpp-python 0.3.36.
"""

from collections.abc import Iterator
from dataclasses import replace

from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.programs.servers.client import Client, Traffic
from sampler_parity.programs.servers.observation import NotComputed, Observation, honoured_if
from sampler_parity.programs.servers.oracle.check import difference
from sampler_parity.programs.servers.oracle.generate import Oracle
from sampler_parity.programs.servers.oracle.model import DecodedModel, KnownModel, observe_with
from sampler_parity.programs.servers.server_record import ServerResult

_FREE, _REQUESTED = 12, 64  # tokens that have a place behind the prompt; that are asked for
_REQUEST = {"temperature": 0.0, "repeat_penalty": 1.0, "seed": 1}


def check_context(client: Client, oracle: Oracle, size: int) -> Iterator[ServerResult]:
    """Ask for more tokens than the context has. size: tokens of the context of one text."""

    def past_the_context(model: DecodedModel, client: Client) -> Observation:
        # Only llama-server reports a full context: elsewhere "every answer" would call it wrong.
        reports_it = client.dialect.text == "llama-server"
        separate = client if reports_it else replace(client, traffic=Traffic())
        return _past_size(oracle, model, size, separate)

    yield from observe_with(oracle.model, "state", {"past the context": past_the_context}, client)


def _past_size(oracle: Oracle, model: DecodedModel, size: int, client: Client) -> Observation:
    known_model, length = model.known, client.dialect.length
    several = [token for prompt in known_model.prompts.values() for token in prompt] * size
    prompt = _longest(size - _FREE, several, known_model)
    read = known_model.prompt_as_read(prompt)
    free = size - len(read)
    answer = client.complete(known_model.prompt_as_sent(prompt), {**_REQUEST, length: _REQUESTED})
    try:
        want = oracle.predict(model.logits, read, {**_REQUEST, length: free}, answer)
    except BackendFailure as failure:
        raise NotComputed(str(failure), answer) from None
    evidence = f"{len(read)} tokens of {size} are the prompt, {_REQUESTED} are asked for"
    if wrong := answer.refusal or difference(answer, want):
        return honoured_if(False, "", f"{evidence}: {wrong}", answer)
    too_long = client.complete(
        known_model.prompt_as_sent(several[: 2 * size]), {**_REQUEST, length: 1}
    )
    right = f"{evidence}, {free} come, each as predicted; a prompt that is longer is refused"
    wrong = f"{2 * size} tokens are accepted as a prompt"
    return honoured_if(bool(too_long.refusal), right, wrong, answer)


def _longest(size: int, tokens: list[int], model: KnownModel) -> list[int]:
    """Return the longest beginning that the server reads as so many tokens or fewer."""
    return next(
        tokens[:n] for n in range(size, 0, -1) if len(model.prompt_as_read(tokens[:n])) <= size
    )
