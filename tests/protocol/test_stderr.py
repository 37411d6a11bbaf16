"""What a backend prints to stderr: read while the harness waits, and its last bytes are kept."""

import sys

import pytest

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.sanitize.crash_output import BYTES
from tests.support.sandboxed import need_sandbox
from tests.support.script_backend import REPLY, REQUEST, backend, failure

PRINTS = "[os.write(2, b'x' * (1 << 20)) for _ in range(64)]"


@pytest.fixture(params=[False, True], ids=["outside", "inside"])
def sandbox(request: pytest.FixtureRequest) -> bool:
    if request.param:
        need_sandbox()
    return bool(request.param)


def kept(process: BackendProcess) -> int:
    assert process._errors is not None
    return len(process._errors.tail)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no st_mode of a pipe")
def test_it_goes_into_no_file(sandbox: bool) -> None:
    act = 'import stat; say(\'{"ok":true,"ns":[%d]}\\n\' % stat.S_ISFIFO(os.fstat(2).st_mode))'
    with backend(act, sandbox=sandbox) as process:
        assert process.ask(REQUEST, p.TimeReply).ns == [1]


@pytest.mark.slow
def test_much_of_it_before_a_reply_does_not_change_the_reply(sandbox: bool) -> None:
    with backend(f"{PRINTS}; say('{REPLY}\\n')", sandbox=sandbox) as process:
        assert process.ask(REQUEST, p.TimeReply).ns == [7]
        assert process.ask(REQUEST, p.TimeReply).ns == [7]
        assert process.starts == 1
        assert kept(process) == BYTES


@pytest.mark.slow
def test_much_of_it_behind_a_reply_does_not_change_the_next(sandbox: bool) -> None:
    with backend(f"say('{REPLY}\\n'); {PRINTS}", sandbox=sandbox) as process:
        for _ in range(3):
            assert process.ask(REQUEST, p.TimeReply).ns == [7]
        assert process.starts == 1
        assert process.late == []


@pytest.mark.slow
def test_without_end_it_is_a_timeout(sandbox: bool) -> None:
    with backend(
        "while True: os.write(2, b'x' * (1 << 20))", timeout_s=0.5, sandbox=sandbox
    ) as process:
        caught = failure(process)
        assert kept(process) <= BYTES
    assert (caught.verdict, str(caught)) == ("timeout", "no reply within 0.5 s")


@pytest.mark.slow
def test_its_end_is_shown_if_stdout_was_closed_before(sandbox: bool) -> None:
    act = f"os.close(1); {PRINTS}; sys.stderr.write('\\nno more\\n'); sys.exit(3)"
    with backend(act, sandbox=sandbox) as process:
        assert str(failure(process)) == "exit status 3: no more"


def test_a_process_that_closes_it_works_on() -> None:
    with backend(f"os.dup2(os.open(os.devnull, 1), 2); say('{REPLY}\\n')") as process:
        for _ in range(3):
            assert process.ask(REQUEST, p.TimeReply).ns == [7]
