"""Replies that carry the number of their request, and output that follows a reply."""

import json

import numpy as np
import pytest

from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from tests.support.script_backend import GREETING, REPLY, REQUEST, backend, failure

NUMBERED = json.dumps(json.loads(GREETING) | {"capabilities": ["time", "numbers"]})
UNNUMBERED = json.dumps(json.loads(GREETING) | {"capabilities": ["time"]})
REPEATS = 'import json; n = json.loads(line)["number"]; '
SETTING = client.Setting([], 1)
ROW = np.zeros(1, np.float32)


def test_a_reply_repeats_the_number_of_its_request() -> None:
    with backend(
        REPEATS + 'say(f\'{{"ok":true,"ns":[{n}],"number":{n}}}\\n\')', NUMBERED
    ) as process:
        asked = [process.ask(REQUEST, p.TimeReply).ns for _ in range(3)]
    assert asked == [[2], [3], [4]]  # the greeting is the first


def test_who_does_not_claim_numbers_gets_none() -> None:
    act = "say('{\"ok\":true,\"ns\":[%d]}\\n' % ('number' in line))"
    with backend(act, UNNUMBERED) as process:
        assert process.ask(REQUEST, p.TimeReply).ns == [0]


@pytest.mark.parametrize("number", ["", ',"number":7', ',"number":"2"', ',"number":1'])
def test_another_number_is_no_reply(number: str) -> None:
    with backend(f'say(\'{{"ok":true,"ns":[1]{number}}}\\n\')', NUMBERED) as process:
        caught = failure(process)
    assert (caught.verdict, process.late) == ("crashed", [])
    assert "expected 2" in str(caught)


def test_a_second_reply_is_blamed_on_its_request_and_the_next_is_asked_again() -> None:
    act = (
        REPEATS + 'reply = lambda n: say(f\'{{"ok":true,"ns":[{n}],"number":{n}}}\\n\')\n'
        "if n == 3: reply(2)\n"
        "reply(n)"
    )
    with backend(act, NUMBERED) as process:
        first, second = (client.time(process, SETTING, ROW, 1).ns for _ in range(2))
        assert (first, second) == ([2], [5])  # 4 greets the new process
        assert process.late == [(2, "a second reply")]
        assert process.starts == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (
            "sys.stdin.close(); time.sleep(0.05); os._exit(4)",
            "ended after its reply: exit status 4",
        ),
        ("time.sleep(0.05); os._exit(4)", "ended after its reply: exit status 4"),
        ("time.sleep(600)", "took no other request after its reply"),
    ],
    ids=["closes its stdin and ends", "ends", "hangs"],
)
def test_what_comes_after_a_reply_is_blamed_on_it(act: str, problem: str) -> None:
    once = f"if not os.environ.get('X'): say('{REPLY}\\n'); {act}"
    with backend(once, UNNUMBERED, timeout_s=0.5) as process:
        assert client.time(process, SETTING, ROW, 1).ns == [7]
        assert client.time(process, SETTING, ROW, 1).ns == [7]
        assert process.late == [(2, problem)]
        assert process.starts == 2


def test_a_process_that_took_the_request_pays_for_its_end() -> None:
    act = f"taken = 'first' in globals(); first = 1\nif taken: os._exit(5)\nsay('{REPLY}\\n')"
    with backend(act, UNNUMBERED) as process:
        client.time(process, SETTING, ROW, 1)
        with pytest.raises(BackendFailure, match="exit status 5"):
            client.time(process, SETTING, ROW, 1)
        assert process.late == []
