"""Send a backend the request `sequences`: many sequences at once."""

from dataclasses import dataclass

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import (
    Got,
    Row,
    asked_again,
    blank,
    claim,
    generated,
    written_logits,
)
from sampler_parity.harness.protocol.interface import Backend


@dataclass(frozen=True)
class Sequenced:
    """rows: float32[tokens, n_vocab], what each token was sampled from. handed_back: of each token,
    what the stages in the graph left; None for a backend that does not sample there."""

    reply: p.SequencesReply
    rows: Row
    handed_back: list[Got] | None


@asked_again
def sequences(backend: Backend, request: p.SequencesRequest) -> Sequenced:
    """Return the tokens of many sequences, and the logits they were sampled from. rejected: a row
    is missing."""
    chain = [stage for text in request.texts for stage in text.chain]
    hello = claim(backend, "sequences", chain)
    n = request.n_tokens
    blank(backend, n * request.n_vocab)
    if "in_graph" in hello.capabilities:
        backend.scratch.ensure((4 + 12) * n * request.n_vocab)
    request = request.model_copy(update={"out": 0})
    reply = backend.ask(request, p.SequencesReply)
    handed_back = generated(backend, hello, request.n_vocab, n, reply)
    if handed_back is not None and len(reply.in_graph) != len(request.texts):
        raise backend.violation("in_graph must have an item for each text")
    return Sequenced(reply, written_logits(backend, n, request.n_vocab, "of token"), handed_back)
