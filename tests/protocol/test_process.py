"""The connection to a backend: a failure is a verdict on one request, then a new process starts.

Small scripts act as backends here; whole adapters are in test_mutants.py.
"""

import json
import os
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from tests.support.alive import alive, until
from tests.support.script_backend import GREETING, REPLY, REQUEST, backend, failure

FAILURES = tomllib.loads(Path(__file__).with_name("failures.toml").read_text(encoding="utf-8"))


def test_process_answers() -> None:
    with backend(f"say('{REPLY}\\n')") as process:
        assert process.ask(REQUEST, p.TimeReply).ns == [7]
        assert process.ask(REQUEST, p.TimeReply).ns == [7]
        assert process.starts == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FAILURES)
def test_failure_says_what_happened(name: str) -> None:
    row = FAILURES[name]
    with backend(row["act"]) as process:
        caught = failure(process)
    assert caught.verdict == row.get("verdict", "crashed")
    assert str(caught).startswith(row["message"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    ["time.sleep(60)", "pass", "say('{\"ok\":true,'); time.sleep(60)"],
    ids=["hangs", "silent", "half-a-line"],
)
def test_silence_is_a_timeout(act: str) -> None:
    with backend(act, timeout_s=0.3) as process:
        caught = failure(process)
    assert (caught.verdict, str(caught)) == ("timeout", "no reply within 0.3 s")


@pytest.mark.slow
def test_process_that_does_not_read_a_long_request_is_a_timeout() -> None:
    request = REQUEST.model_copy(update={"history": [1] * 200_000})
    with backend("time.sleep(60)", timeout_s=0.3) as process:
        failure(process)
        with pytest.raises(BackendFailure, match=r"no reply within 0\.3 s"):
            process.ask(request, p.TimeReply)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["sys.exit(3)", "os.abort()", "time.sleep(60)", "say('?\\n')"])
def test_next_request_gets_a_new_process(fault: str, tmp_path: object) -> None:
    once = f"{tmp_path}/failed"
    act = (
        f"ok = os.path.exists('{once}'); open('{once}', 'w').close()\n"
        f"if ok: say('{REPLY}\\n')\nelse: {fault}"
    )
    with backend(act) as process:
        process.hello()
        process.timeout_s = 0.5 if "sleep" in fault else 20.0
        failure(process)
        process.timeout_s = 20.0
        assert process.ask(REQUEST, p.TimeReply).ns == [7]
        assert process.starts == 2


def test_refusal_keeps_the_process() -> None:
    with backend('say(\'{"ok":false,"kind":"rejected","message":"no"}\\n\')') as process:
        failure(process)
        failure(process)
        assert process.starts == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [f"say('{REPLY}\\n'); time.sleep(0.2); say('late\\n')", f"say('{REPLY}\\n'); sys.exit(1)"],
    ids=["prints-later", "dies-later"],
)
def test_what_happens_between_requests_is_not_blamed_on_the_next(act: str) -> None:
    with backend(act) as process:
        process.ask(REQUEST, p.TimeReply)
        assert process._readable(20)
        assert process.ask(REQUEST, p.TimeReply).ns == [7]
        assert process.starts == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("greeting", "message"),
    [
        ("Hi!", "not a reply (stdout is for replies: print to stderr): 'Hi!'"),
        (
            GREETING.replace("}", ', "protocol": 3, "dialect": "new"}'),
            "it speaks protocol 3, the harness protocol 1 and 2",
        ),
        (GREETING.replace("}", ', "protocol": "one"}'), "it speaks protocol 'one', "),
        (GREETING.replace("}", ', "dialect": "mine"}'), "not a reply (dialect: "),
        (GREETING.replace('"run"', '"fly"'), "not a reply (capabilities"),
        (GREETING.replace('"run"', '"batch"'), "it claims batch, which protocol 1 does not have"),
    ],
    ids=["garbage", "protocol", "no-number", "key", "capability", "batch-in-version-1"],
)
def test_bad_greeting_is_a_crash(greeting: str, message: str) -> None:
    with backend("pass", greeting) as process:
        caught = failure(process)
    assert caught.verdict == "crashed"
    assert str(caught).startswith(message)


@pytest.mark.parametrize("version", ["", ', "protocol": 1'], ids=["none", "1"])
def test_a_hello_with_version_1_or_none_is_version_1(version: str) -> None:
    with backend(f"say('{REPLY}\\n')", GREETING.replace("}", version + "}")) as process:
        assert process.hello().protocol == 1
        assert process.ask(REQUEST, p.TimeReply).ns == [7]


REFUSES = json.dumps({"ok": False, "kind": "unsupported", "message": "speaks protocol 1"})


def test_a_backend_that_refuses_version_2_is_greeted_in_version_1() -> None:
    act = f"""say('{GREETING}' if '"protocol":1' in line else '{REFUSES}'); say('\\n')"""
    with backend(act, REFUSES) as process:
        assert process.hello().protocol == 1
        assert process.starts == 1


def test_who_refuses_both_versions_is_reported_in_one_line() -> None:
    with backend(f"say('{REFUSES}\\n')", REFUSES) as process:
        caught = failure(process)
    assert (caught.verdict, caught.whole) == ("unsupported", "speaks protocol 1")


def test_an_answer_in_a_version_above_the_one_offered_is_a_crash() -> None:
    answer = GREETING.replace("}", ', "protocol": 2}')
    with backend(f"say('{answer}\\n')", REFUSES) as process:
        caught = failure(process)
    assert str(caught) == "it was offered protocol 1 and answers in protocol 2"


@pytest.mark.slow
@pytest.mark.parametrize("version", p.SPOKEN)
def test_a_worker_of_ours_has_batches_in_version_2_alone(version: int, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.write_bytes(b"")
    replies = _worker_replies(p.HelloRequest(protocol=version, scratch=str(scratch)))
    assert replies[0]["protocol"] == version
    assert ("batch" in replies[0]["capabilities"]) == (version == 2)


@pytest.mark.slow
def test_a_worker_of_ours_refuses_to_be_greeted_in_another_protocol() -> None:
    replies = _worker_replies(p.HelloRequest(protocol=3, scratch="/no/such/file"), REQUEST)
    assert [(s["kind"], s["message"]) for s in replies] == [
        ("rejected", "speaks protocol 1 and 2, was asked for 3"),
        ("rejected", "say hello first"),
    ]


def _worker_replies(*requests: p.Request) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "sampler_parity.harness.backends.worker", "null"]
    asked = "\n".join(map(p.to_line, (*requests, p.ByeRequest()))) + "\n"
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_missing_greeting_is_a_timeout() -> None:
    silent = [sys.executable, "-c", "import time; time.sleep(60)"]
    with closing(BackendProcess("x", silent)) as process:
        process.start_timeout_s = 0.3
        assert failure(process).verdict == "timeout"


def test_missing_command_is_a_crash() -> None:
    with closing(BackendProcess("x", ["/no/such/program"])) as process:
        assert str(failure(process)) == (
            "cannot start /no/such/program: [Errno 2] No such file or directory: '/no/such/program'"
        )


def test_a_file_that_is_not_there_is_named_and_the_name_of_an_engine_is_no_file() -> None:
    ends = [sys.executable, "-c", "raise SystemExit(3)", "adapter.py", "--level", "0.5"]
    with closing(BackendProcess("x", ends)) as process:
        assert str(failure(process)) == "exit status 3: adapter.py is not there"
    of_module = [sys.executable, "-m", "json.tool", "llama.cpp"]
    with closing(BackendProcess("x", of_module)) as process:
        message = str(failure(process))
    assert message.startswith("exit status")
    assert "is not there" not in message


def test_close_ends_the_process_and_deletes_the_scratch_file() -> None:
    with backend("say(str(os.getpid()) + '\\n')") as process:
        pid = int(str(failure(process)).split("'")[1])
    assert not process.scratch.path.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.slow
def test_timeout_ends_what_the_process_started_too() -> None:
    act = (
        "import subprocess; c = subprocess.Popen(['sleep', '60']); say(str(c.pid)); time.sleep(60)"
    )
    with backend(act, timeout_s=1.0) as process:
        failure(process)
        child = int(process._buffer)
    until(lambda: not alive(child))
