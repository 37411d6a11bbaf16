"""Read replies: strict JSON, of the version of the protocol in use.

The request limits the length and the time of its reply. The harness stops reading a longer reply,
so no reply costs more memory and time than its request justifies.
"""

from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import R
from sampler_parity.harness.protocol.live import sequences_of
from sampler_parity.harness.sanitize.limits import json_of

MESSAGE = 1 << 18  # bytes of any reply: greetings, refusals, figures
NUMBER = 32  # bytes of a number in a list, with its comma
STAGE = 8 * NUMBER  # of {"at": 1, "n": 1, "sorted": true, "selected": 1}
MOST = 1 << 26
# Draws in the time of one request: of 60 s 6 ms each. The slowest of an engine were 1.3 ms (MLX LM,
# SGLang on two busy cores), and three times that next to eleven other processes.
DRAWS = 10_000
OF_A_ROUND = 10  # draws in the time of a token of a round: 5 ms in Triton's interpreter, of a core
MOST_DRAWS = 100_000  # a process that hangs is found after eleven times the limit


def reply_bytes(request: BaseModel) -> int:
    """Return the most bytes that the reply to a request may have."""
    runs = request.runs if isinstance(request, p.ManyRequest) else [request]
    return min(MOST, sum(MESSAGE + _lists(run) for run in runs))


def patience(request: BaseModel) -> float:
    """Return how many times the limit of a request this one may take."""
    n = request.n if isinstance(request, p.DrawsRequest | p.SpeculativeRequest) else 0
    draws = (request.drafted + 1) * OF_A_ROUND if isinstance(request, p.SpeculativeRequest) else 1
    return 1 + min(n * draws, MOST_DRAWS) / DRAWS


def _lists(request: BaseModel) -> int:
    """Return the bytes of the lists of the reply."""
    if isinstance(request, p.RunRequest):
        stages = len(request.chain) + request.whole_chain if request.detail == "stages" else 0
        return len(request.steps) * (NUMBER + stages * STAGE)
    if isinstance(request, p.BatchRequest):
        sampled = [s for step in sequences_of(request.steps) for s in step]
        sequences = request.sequences if request.detail == "stages" else []
        stages = sum(len(sequences[s].chain) for s in sampled) if sequences else 0
        return len(request.steps) * NUMBER + len(sampled) * 2 * NUMBER + stages * STAGE
    if isinstance(request, p.TimeRequest):
        return 2 * NUMBER * request.repetitions
    if isinstance(request, p.TokenizeRequest):  # a token is a byte at least, but for those added
        return NUMBER * sum(len(text.encode()) + 16 for text in request.texts)
    if isinstance(request, p.GenerateRequest):
        return request.n_tokens * (NUMBER + STAGE)
    if isinstance(request, p.SequencesRequest):
        return request.n_tokens * (NUMBER + STAGE) + NUMBER * len(request.texts)
    if isinstance(request, p.ThroughputRequest):
        return (2 + request.sequences) * NUMBER * request.n_tokens
    return 0


LARGEST = 10**18 - 1  # no count, place or time needs more, and any reader holds it


class OtherVersion(Exception):  # noqa: N818 - an answer
    """The backend speaks another version of the protocol."""


def parsed(line: bytes) -> Any:
    """Return the JSON of a reply. Raises ValueError for JSON that only some readers accept."""
    return json_of(line.decode(), LARGEST, constants=False)


def checked(answer: Any, reply: type[R]) -> R | p.ErrorReply:
    """Return the reply. Raises ValueError for another kind of reply, OtherVersion."""
    if isinstance(answer, dict) and answer.get("ok") is False:
        return p.ErrorReply.model_validate(answer)
    if reply is p.HelloReply:  # before the rest is read, which another version may word otherwise
        version = answer.get("protocol", 1) if isinstance(answer, dict) else 1
        if version not in p.SPOKEN:
            spoken = " and ".join(map(str, p.SPOKEN))
            raise OtherVersion(f"it speaks protocol {version!r}, the harness protocol {spoken}")
    return reply.model_validate(answer)
