"""Limits of a reply: its length and its contents never cost more than was asked for."""

import json
import resource
import time
from typing import Any

import pytest

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.protocol.replies import MESSAGE, MOST, patience, reply_bytes
from tests.support.client_requests import GENERATE, THROUGHPUT
from tests.support.script_backend import GREETING, REQUEST, backend, failure

RUN = p.RunRequest(
    chain=[{"top_k": {"k": 2}}, {"greedy": {}}],
    n_vocab=1 << 30,
    rows=p.Rows(at=0, count=1, n=1),
    steps=[p.Step(row=0)] * 1000,
    out=1 << 40,
)
STAGE = {"at": 10**17, "n": 10**17, "sorted": False, "selected": -(10**17)}
LONG = {"n_tokens": 500}
_JOIN = [["join", 0]] * 4
_LEAVE = [["leave", 0]] * 4
_FOUR = [{"at": at, "row": 0} for at in range(4)]
BATCH = p.BatchRequest.model_validate(
    {
        "n_vocab": 9,
        "rows": {"at": 0, "count": 1, "n": 9},
        "sequences": [{"chain": [{"top_k": {"k": 2}}, {"greedy": {}}]}],
        "steps": [{"before": _JOIN, "sample": _FOUR}]
        + [{"before": _LEAVE + _JOIN, "sample": _FOUR}] * 399,
        "out": 0,
    }
)
LONGEST: list[tuple[Any, dict[str, Any]]] = [
    (RUN, {"tokens": [-(10**17)] * 1000, "stages": [[STAGE] * 2] * 1000, "ns": 10**17}),
    (
        REQUEST.model_copy(update={"repetitions": 9000}),
        {"ns": [10**17] * 9000, "setup_ns": [10**17] * 9000},
    ),
    (
        p.TokenizeRequest(model="m", texts=["a" * 20_000, "é"]),
        {"tokens": [[10**17] * 20_003, [10**17] * 5]},
    ),
    (GENERATE.model_copy(update=LONG), {"tokens": [10**17] * 500, "handed_back": [STAGE] * 500}),
    (
        THROUGHPUT.model_copy(update=LONG),
        dict.fromkeys(("sample_ns", "decode_ns"), [10**17] * 500)
        | {"prompt_ns": 1, "tokens": [[10**17] * 3] * 500},
    ),
    (BATCH, {"tokens": [[-(10**17)] * 4] * 400, "stages": [[[STAGE] * 2] * 4] * 400}),
]


@pytest.mark.parametrize(("request_", "reply"), LONGEST, ids=lambda x: getattr(x, "do", ""))
def test_the_longest_reply_that_fits_may_be_sent(request_: Any, reply: dict[str, Any]) -> None:
    size = len(json.dumps({"ok": True} | reply))
    assert size <= reply_bytes(request_) <= 4 * size + MESSAGE


def test_no_request_lets_a_reply_be_longer_than_64_mib() -> None:
    assert reply_bytes(REQUEST.model_copy(update={"repetitions": 10**9})) == MOST == 64 << 20


def draws(n: int) -> p.DrawsRequest:
    return p.DrawsRequest(chain=[], n_vocab=1, rows=REQUEST.rows, n=n, out=0)


ROUNDS = p.SpeculativeRequest(
    rule="rejection", chain=[], n_vocab=1, rows=REQUEST.rows, drafted=2, draft_rows=0, n=500,
    drafts=0, seeds=0, out=0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "seconds"),
    [(draws(10_000), 120), (draws(20_000), 180), (draws(10**9), 660), (REQUEST, 60), (ROUNDS, 150)],
    ids=["10,000 draws", "20,000 draws", "more than are waited for", "no draws", "500 rounds"],
)
def test_many_draws_have_more_time_than_another_request(
    request_: Any, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []
    process = BackendProcess("script", ["no such program"], timeout_s=60)
    monkeypatch.setattr(process, "hello", lambda: None)
    monkeypatch.setattr(process, "_exchange", lambda *asked: limits.append(asked[-1]))
    process.ask(request_, p.DrawsReply)
    process.ask(request_, p.DrawsReply, timeout_s=5)
    process.scratch.remove()
    assert limits == [seconds, 5] == [60 * patience(request_), 5]


@pytest.mark.parametrize(
    ("n", "message"),
    [(1_000_000, "a reply of over 262,208 bytes"), (60_000, "not a reply (")],
    ids=["too long", "short enough to be read"],
)
def test_words_for_times_cost_neither_time_nor_memory(n: int, message: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    act = f"say('{{\"ok\":true,\"ns\":[' + '\"a\",' * {n} + '1]}}\\n')"
    with backend(act) as process:
        process.hello()
        begun = time.monotonic()
        caught = failure(process)
    assert (caught.verdict, str(caught).startswith(message)) == ("crashed", True)
    assert time.monotonic() - begun < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


@pytest.mark.slow
def test_the_timeout_spans_the_reading_of_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    decode = json.JSONDecoder.decode

    def slow(decoder: json.JSONDecoder, text: str) -> Any:
        if "ns" in text:
            time.sleep(0.4)
        return decode(decoder, text)

    with backend('say(\'{"ok":true,"ns":[7]}\\n\')', timeout_s=0.3) as process:
        process.hello()
        monkeypatch.setattr(json.JSONDecoder, "decode", slow)
        caught = failure(process)
    assert (caught.verdict, str(caught)) == ("timeout", "no reply within 0.3 s")


@pytest.mark.parametrize(
    ("ns", "reason"),
    [
        ("1" + "0" * 400, "the whole number 10000000000000000000... (401 digits) is larger"),
        ("-1" + "0" * 5000, "the whole number -1000000000000000000... (5,002 digits) is larger"),
        ("NaN", "NaN is not valid JSON"),
        ("1e999", "ns.0: Input should be a finite number"),
    ],
)
def test_a_number_that_no_reader_holds_is_no_reply(ns: str, reason: str) -> None:
    with backend(f'say(\'{{"ok":true,"ns":[{ns}]}}\\n\')') as process:
        caught = failure(process)
    assert caught.verdict == "crashed"
    assert f"({reason}" in str(caught)


@pytest.mark.parametrize(
    "version",
    [r'"\ud800"', r'"\udfff\ud800"', r'"1.2\ud83d"'],
    ids=["high", "swapped", "at the end"],
)
def test_a_lone_surrogate_in_a_version_is_no_greeting(version: str) -> None:
    with backend("pass", GREETING.replace('"1"', version)) as process:
        caught = failure(process)
    assert caught.verdict == "crashed"
    assert "surrogates not allowed" in str(caught)


def test_a_surrogate_pair_in_a_version_is_a_character() -> None:
    with backend("pass", GREETING.replace('"1"', r'"\ud83d\ude00"')) as process:
        assert process.hello().version == "\N{GRINNING FACE}"


def test_bytes_that_only_pass_for_text_are_no_greeting() -> None:
    act = 'os.write(1, b\'{"ok":true,"ns":[7],"more":"\\xed\\xa0\\x80"}\\n\')'
    with backend(act) as process:
        assert "can't decode" in str(failure(process))


@pytest.mark.slow
@pytest.mark.parametrize("key", ["name", "version", "build", "device"])
def test_a_greeting_of_a_book_is_no_greeting(key: str) -> None:
    greeting = json.dumps(json.loads(GREETING) | {key: "x" * 5000})
    with backend("pass", greeting) as process:
        assert "not a reply" in str(failure(process))


@pytest.mark.slow
def test_the_crash_output_of_many_is_read_alone() -> None:
    act = "sys.stderr.write('x' * (1 << 26) + '\\nno more\\n'); sys.exit(3)"
    with backend(act) as process:
        assert str(failure(process)) == "exit status 3: no more"
