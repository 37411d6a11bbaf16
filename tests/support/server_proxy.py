"""A proxy on the loopback address before a real llama-server, with the same faults between."""

from sampler_parity.harness.servers import http
from sampler_parity.harness.servers.address import Address
from tests.support.fake_server import Answered, Answering, Sent

_PATH = "/completion"
_SECONDS = 60


def forwarding(address: Address) -> Answering:
    """Return a function that forwards to the real server; a stream comes whole, with its parts."""

    def answering(sent: Sent) -> Answered:
        try:
            if sent.get("stream"):
                return _streamed(address, sent)
            reply = http.ask(address, _PATH, sent, _SECONDS)
            return reply.status, reply.data
        except http.ServerFailure as failure:
            return 500, {"error": failure.line}

    return answering


def _streamed(address: Address, sent: Sent) -> Answered:
    events = http.stream(address, _PATH, sent, _SECONDS)
    if isinstance(events, http.Reply):
        return events.status, events.data
    parts = [(event.data["content"], event.data.get("tokens", [])) for event in events]
    content = "".join(text for text, _ in parts)
    tokens = [token for _, several in parts for token in several]
    return 200, {**events[-1].data, "content": content, "tokens": tokens, "parts": parts}
