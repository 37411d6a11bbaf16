"""A proxy on the loopback address before a real llama-server, with the same faults between."""

from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from tests.support.fake_server import Answered, Answering, Sent

_PATH = "/completion"
_PLACES = "completion_probabilities"
_SECONDS = 60


def forwarding(address: Address, path: str = _PATH) -> Answering:
    """Return a function that forwards to the real server; a stream comes whole, with its parts, or
    from another path than the usual one without them."""

    def answering(sent: Sent) -> Answered:
        try:
            if sent.get("stream") and path == _PATH:
                return _streamed(address, sent)
            at = "/tokenize" if "content" in sent else path
            reply = http.ask(address, at, {**sent, "stream": False}, _SECONDS)
            return reply.status, reply.data
        except http.ServerFailure as failure:
            return 500, {"error": failure.line}

    return answering


def _streamed(address: Address, sent: Sent) -> Answered:
    events = http.stream(address, _PATH, sent, _SECONDS)
    if isinstance(events, http.Reply):
        return events.status, events.data
    came = [event.data for event in events if event.data is not None]
    several = [[one for one in came if one.get("index", 0) == i] for i in range(_count(sent))]
    answers = [_whole(one) for one in several]
    return 200, answers if len(answers) > 1 else answers[0]


def _count(sent: Sent) -> int:
    prompt = sent["prompt"]
    return len(prompt) if isinstance(prompt, list) and isinstance(prompt[0], str) else 1


def _whole(events: list[Sent]) -> Sent:
    """Return the answer of a stream's events, with its parts."""
    parts = [(event["content"], event.get("tokens", [])) for event in events]
    content = "".join(text for text, _ in parts)
    tokens = [token for _, several in parts for token in several]
    several = [place for event in events for place in event.get(_PLACES, ())]
    places = {_PLACES: several} if several else {}
    whole = {"content": content, "tokens": tokens, "parts": parts}
    return {**events[-1], **places, **whole}
