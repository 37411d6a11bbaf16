"""Hostile adapters in a sandbox: the same verdicts as without, and no access to our files."""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.processes import supervisor
from sampler_parity.harness.protocol.process import BackendProcess
from tests.attack import hostile
from tests.attack.charged import charged
from tests.support.alive import until
from tests.support.sandboxed import need_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are of Linux")

# Connects to a port and reports in hello, as its device, whether it succeeded.
CALLER = """
import json, socket, sys
sys.stdin.readline()
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    device = "through"
except OSError as error:
    device = type(error).__name__
print(json.dumps({"ok": True, "name": "a", "version": "1", "device": device,
                  "capabilities": ["run"], "samplers": []}), flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("sandbox", "device"), [(False, "through"), (True, "PermissionError")])
def test_an_adapter_that_calls_home_gets_through_without_a_sandbox_alone(
    sandbox: bool, device: str
) -> None:
    if sandbox:
        need_sandbox()
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-I", "-S", "-c", CALLER, str(server.getsockname()[1])]
        backend = BackendProcess("caller", command, 20.0, sandbox=sandbox)
        try:
            assert backend.hello().device == device
        finally:
            backend.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["kills-itself", "leaves-a-daemon", "cuts-after", "dies-before-a-child"]
)
def test_an_attack_has_the_verdict_that_it_has_outside(name: str) -> None:
    need_sandbox()
    attack = hostile.ATTACKS[name]
    command = [sys.executable, "-I", "-S", hostile.__file__, attack.name]
    backend = BackendProcess(attack.name, command, timeout_s=20.0, sandbox=True)
    verdicts = [result.backends[name].verdict for result in charged(attack, backend)[0]]
    assert verdicts == ["identical", attack.verdict, "identical"]
    assert not supervisor._marked(f"{hostile.__file__}\0{name}\0".encode())
    assert not os.path.exists(backend.scratch.path)


# Starts a sandboxed adapter that never ends by itself.
OWNER = """
import sys
from sampler_parity.harness.protocol.process import BackendProcess
backend = BackendProcess("a", [sys.executable, "-I", "-S", "-c", sys.argv[1], "0"], sandbox=True)
backend.hello()
print(backend.scratch.path, flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_nothing_in_a_sandbox_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    need_sandbox()
    stays = f"# {tmp_path}\n{CALLER}\nimport time; time.sleep(600)"
    command = [sys.executable, "-c", OWNER, stays]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as owner:
        assert owner.stdout is not None
        scratch = owner.stdout.readline().strip()
        assert os.path.exists(scratch)
        assert len(_running(str(tmp_path))) == 4  # it, and the three of a sandbox
        owner.kill()
    until(lambda: not _running(str(tmp_path)))
    until(lambda: not os.path.exists(scratch))


def _running(words: str) -> list[str]:
    """The processes with this in their command."""
    running = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            running += [path.parent.name] if words in path.read_text(errors="replace") else []
    return running
