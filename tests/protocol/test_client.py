"""Requests to a backend: unclaimed features are not sent, and malformed replies do not pass."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.scratch import Scratch
from tests.support.client_requests import CAPTURE, GENERATE, ROW, SETTING, THROUGHPUT, TOP_K, V

STEPS = [p.Step(row=0)]
ASKED: dict[str, Callable[[Any], Any]] = {
    "run": lambda b: client.run(b, SETTING, [ROW], STEPS),
    "draws": lambda b: client.draws(b, SETTING, ROW, 3),
    "time": lambda b: client.time(b, SETTING, ROW, 2),
    "decode": lambda b: client.decode(b, "m", V, [1, 2]),
    "capture": lambda b: client.capture(b, CAPTURE),
    "devices": lambda b: client.devices(b),
    "generate": lambda b: client.generate(b, GENERATE),
    "throughput": lambda b: client.throughput(b, THROUGHPUT),
}
WITHOUT_CHAIN = ("decode", "capture", "devices")


class Canned:
    """Write into the scratch file by a function, then answer with a fixed reply."""

    def __init__(
        self, write: Callable[[Scratch, Any], object], reply: dict[str, Any], **hello: Any
    ) -> None:
        self.name, self.scratch, self.sent = "canned", Scratch(), 0
        self._write, self._reply = write, reply
        claims = {"capabilities": list(ASKED), "samplers": ["top_k"]}
        self._hello = p.HelloReply.model_validate({"name": "c", "version": "1"} | claims | hello)

    def hello(self) -> p.HelloReply:
        return self._hello

    def ask(self, request: Any, reply: Any, timeout_s: float | None = None) -> Any:
        self.sent += 1
        self._write(self.scratch, request)
        return reply.model_validate(self._reply)

    def violation(self, message: str) -> BackendFailure:
        return BackendFailure("crashed", message)

    def close(self) -> None:
        self.scratch.remove()


@pytest.fixture
def canned() -> Iterator[Callable[..., Canned]]:
    made: list[Canned] = []

    def make(*arguments: Any, **hello: Any) -> Canned:
        made.append(Canned(*arguments, **hello))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def nothing(_scratch: Scratch, _request: Any) -> None:
    """Writes nothing."""


def rows(scratch: Scratch, request: Any) -> None:
    """Two rows of logits where they are asked for."""
    scratch.write(request.out, np.ones(2 * V, np.float32))


def cuts(scratch: Scratch, request: Any) -> None:
    os.truncate(scratch.path, 0)


def stage(at: int = 1024, n: int = 2) -> dict[str, Any]:
    return {"at": at, "n": n, "selected": 0}


@pytest.mark.parametrize("what", ASKED)
def test_a_capability_that_hello_does_not_claim_is_not_asked_for(what: str, canned: Any) -> None:
    backend = canned(nothing, {}, capabilities=[name for name in ASKED if name != what])
    with pytest.raises(BackendFailure) as caught:
        ASKED[what](backend)
    assert (caught.value.verdict, backend.sent) == ("unsupported", 0)


def test_a_prompt_is_sent_only_to_backends_that_distinguish_it_from_the_output(canned: Any) -> None:
    backend = canned(nothing, {}, capabilities=["run"])
    setting = client.Setting(TOP_K, V, history=[1, 2], n_prompt=1)
    with pytest.raises(BackendFailure, match="does not distinguish the prompt") as caught:
        client.run(backend, setting, [ROW], STEPS)
    assert (caught.value.verdict, backend.sent) == ("unsupported", 0)


@pytest.mark.parametrize("what", [name for name in ASKED if name not in WITHOUT_CHAIN])
def test_a_sampler_that_hello_does_not_claim_is_not_asked_for(what: str, canned: Any) -> None:
    backend = canned(nothing, {}, samplers=["dist"])
    with pytest.raises(BackendFailure, match="no sampler top_k") as caught:
        ASKED[what](backend)
    assert (caught.value.verdict, backend.sent) == ("unsupported", 0)


def test_uniforms_are_not_sent_to_a_backend_that_does_not_claim_them(canned: Any) -> None:
    backend = canned(nothing, {})
    with pytest.raises(BackendFailure, match="takes no uniforms"):
        client.draws(backend, SETTING, ROW, 2, uniforms=np.zeros(2))
    assert backend.sent == 0


NS: dict[str, Any] = {"prompt_ns": 1, "sample_ns": [1, 2], "decode_ns": [1, 2]}
STEPS_OR_STAGES = "the reply has the wrong number of steps or stages"
OUTSIDE = "the reply points outside the scratch file"


@pytest.mark.parametrize(
    ("what", "write", "reply", "message"),
    [
        ("run", nothing, {"tokens": [1, 2], "stages": [[stage()]]}, STEPS_OR_STAGES),
        ("run", nothing, {"tokens": [1], "stages": [[stage(), stage()]]}, STEPS_OR_STAGES),
        ("run", nothing, {"tokens": [1], "stages": []}, STEPS_OR_STAGES),
        ("run", nothing, {"tokens": [1], "stages": [[stage(at=-4)]]}, OUTSIDE),
        ("run", nothing, {"tokens": [1], "stages": [[stage(n=-1)]]}, OUTSIDE),
        ("run", nothing, {"tokens": [1], "stages": [[stage(at=1 << 40)]]}, OUTSIDE),
        ("run", nothing, {"tokens": [1], "stages": [[stage(at=12)]]}, "at byte 12, before out, 16"),
        (
            "run",
            nothing,
            {"tokens": [1], "stages": [[stage(n=5)]]},
            "5 candidates, the vocabulary 4",
        ),
        ("draws", cuts, {}, "the scratch file was truncated"),
        ("time", nothing, {"ns": [1]}, r"expected 2 times, each at least 0: \[1\]"),
        ("time", nothing, {"ns": [1, -1]}, r"expected 2 times, each at least 0: \[1, -1\]"),
        ("decode", cuts, {}, "the scratch file was truncated"),
        ("capture", cuts, {}, "the scratch file was truncated"),
        ("generate", cuts, {"tokens": [1, 2]}, "the scratch file was truncated"),
        ("generate", rows, {"tokens": [1]}, "1 tokens in the reply, asked for 2"),
        ("generate", rows, {"tokens": [1, 4]}, "token 4 is not in the vocabulary"),
        ("throughput", nothing, NS | {"sample_ns": [1]}, "must have times of 2 steps"),
        ("throughput", nothing, NS | {"decode_ns": [1, 2, 3]}, "must have times of 2 steps"),
        ("throughput", nothing, NS | {"tokens": [[1, 2, 3], [1, 2]]}, "each of the 3 sequences"),
    ],
)
def test_a_reply_that_does_not_fit_is_a_violation(
    what: str, write: Any, reply: dict[str, Any], message: str, canned: Any
) -> None:
    with pytest.raises(BackendFailure, match=message) as caught:
        ASKED[what](canned(write, reply))
    assert caught.value.verdict == "crashed"


def test_what_the_graph_hands_back_must_be_there_for_every_token(canned: Any) -> None:
    claims = {"capabilities": ["generate", "in_graph"]}
    for handed_back in ([stage()], [stage(), stage(n=0)], [stage(), stage(at=1 << 40)]):
        reply = {"tokens": [1, 2], "handed_back": handed_back}
        with pytest.raises(BackendFailure, match="missing for a token"):
            client.generate(canned(rows, reply, **claims), GENERATE)
    reply = {"tokens": [1, 2], "handed_back": [stage(), stage()]}
    assert len(client.generate(canned(rows, reply, **claims), GENERATE).handed_back or []) == 2


@pytest.mark.parametrize(
    ("what", "place"), [("decode", "after token 0"), ("generate", "of step 0")]
)
def test_logits_that_were_not_written_do_not_pass(what: str, place: str, canned: Any) -> None:
    with pytest.raises(BackendFailure, match=f"the logits {place} are missing") as caught:
        ASKED[what](canned(nothing, {"tokens": [1, 2]} if what == "generate" else {}))
    assert caught.value.verdict == "rejected"


def test_tokens_of_another_number_of_texts_are_a_violation(canned: Any) -> None:
    reply = {"tokens": [[1]], "n_vocab": V, "n_context": 8}
    with pytest.raises(BackendFailure, match="tokens of 1 texts, asked for 2") as caught:
        client.tokenize(canned(nothing, reply), "m", ["a", "b"])
    assert caught.value.verdict == "crashed"


def test_captured_logits_that_were_not_written_are_no_numbers(canned: Any) -> None:
    assert np.isnan(client.capture(canned(nothing, {}), CAPTURE)).all()


def test_a_run_comes_back_as_arrays(canned: Any) -> None:
    def write(scratch: Scratch, request: Any) -> None:
        assert scratch.view(request.rows.at, V, np.float32).tolist() == ROW.tolist()
        at = scratch.write(1024, np.array([3, 2], np.int32))
        scratch.write(at, np.array([3, 2, 0.75, 0.25], np.float32))

    backend = canned(write, {"tokens": [3], "stages": [[stage()]], "ns": 7})
    ran = client.run(backend, SETTING, [ROW], STEPS)
    ((got,),) = ran.stages
    assert (ran.tokens, ran.ns, got.token, got.ids.tolist()) == ([3], 7, 3, [3, 2])
    assert (got.logits.tolist(), got.p.tolist()) == ([3, 2], [0.75, 0.25])


@pytest.mark.parametrize("places", [[0, 24, 48], [48, 24, 0], [0, 0, 24], [99, 0, 24]])
def test_stages_lie_where_the_reply_puts_them(canned: Any, places: list[int]) -> None:
    """Those that lie one behind the other are read at once; all others are, too."""
    ids = {place: [2 * i, 2 * i + 1] for i, place in enumerate(dict.fromkeys(places))}

    def write(scratch: Scratch, request: Any) -> None:
        for place, (first, second) in ids.items():
            at = scratch.write(1024 + place, np.array([first, second], np.int32))
            scratch.write(at, np.array([first, second, -first, -second], np.float32))

    chain: p.ChainSpec = [{"top_k": {"k": 2}}] * len(places)
    reply = {"tokens": [None], "stages": [[stage(1024 + place) for place in places]]}
    (got,) = client.run(canned(write, reply), client.Setting(chain, V), [ROW], STEPS).stages
    assert [each.ids.tolist() for each in got] == [ids[place] for place in places]
    assert [each.logits.tolist() for each in got] == [ids[place] for place in places]
    assert [(-each.p).tolist() for each in got] == [ids[place] for place in places]


def test_a_stage_may_lie_right_behind_the_rows_and_hold_the_whole_vocabulary(canned: Any) -> None:
    backend = canned(nothing, {"tokens": [0], "stages": [[stage(at=4 * V, n=V)]]})
    assert len(client.run(backend, SETTING, [ROW], STEPS).stages[0][0].ids) == V


def test_a_run_of_tokens_only_has_no_stages(canned: Any) -> None:
    backend = canned(nothing, {"tokens": [3]})
    assert client.run(backend, SETTING, [ROW], STEPS, detail="token").stages == [[]]


def test_behind_its_reply_a_backend_is_not_asked_what_it_is(
    canned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has ended meanwhile would be started again for it."""

    def forget(scratch: Scratch, request: Any) -> None:
        monkeypatch.delattr(Canned, "hello")

    assert client.throughput(canned(forget, NS), THROUGHPUT).tokens == []


def test_the_tokens_of_many_sequences_are_wanted_from_version_2_on(canned: Any) -> None:
    assert client.throughput(canned(nothing, NS), THROUGHPUT).tokens == []
    with pytest.raises(BackendFailure, match="a token of each of the 3 sequences"):
        client.throughput(canned(nothing, NS, protocol=2), THROUGHPUT)
    reply = NS | {"tokens": [[1, 2, 3], [4, 5, 6]]}
    assert client.throughput(canned(nothing, reply, protocol=2), THROUGHPUT).tokens[1] == [4, 5, 6]
