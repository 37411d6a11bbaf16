"""Start real servers on a free port of the loopback address, and end them with us."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sampler_parity.harness.backends import environments
from sampler_parity.harness.engines.engine_file import Server, engine_file, engine_names
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.hugging_face import write_folder

_LEAVES_S = 30.0  # longer than engines/vllm/server.py gives its processes
CONTEXT = 512  # of a text, for servers whose server.py sets it
_READY_S = 300.0  # vllm imports torch in three processes: 171 s on two busy cores


def real_servers() -> dict[str, Server]:
    """Return the servers that we know how to start, by name."""
    return {row.name: row for name in engine_names() for row in engine_file(name).server}


def missing(real: Server) -> str:
    """Return why a server cannot be started here, with the fix; "" where it can."""
    return environments.missing(real.environment)


@contextmanager
def started(real: Server, model: Path, more: Sequence[str] = ()) -> Iterator[Address]:
    """Start a server and give its address. Raises InputError for one that does not start. more:
    further arguments of its program."""
    if why := missing(real):
        raise InputError(f"server {real.name}", "its environment is not installed", why)
    port = free_port()
    address = Address("http", "127.0.0.1", port)
    with (
        _readable(real, model) as path,
        tempfile.TemporaryFile() as output,
        _process([*_words(real, path, port), *more], output.fileno()) as run,
    ):
        try:
            _wait(real, address, run)
        except TimeoutError:
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
            problem = f"does not start: {one_line(lines[-1]) if lines else 'without any output'}"
            raise InputError(f"server {real.name}", problem) from None
        yield address


@contextmanager
def _readable(real: Server, model: Path) -> Iterator[Path]:
    """Give the model as the server reads it."""
    if not real.reads_folder:
        yield model
        return
    with tempfile.TemporaryDirectory() as folder:
        write_folder(model, Path(folder))
        yield Path(folder)


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _words(real: Server, model: Path, port: int) -> list[str]:
    folder = environments.folder_of(real.environment)
    script = str(real.script)
    python = environments.python_of(folder)
    if not real.ours:
        return [str(python), "-I", script, str(model), str(port)]
    packages = next(folder.glob("lib/python*/site-packages"), folder / "Lib" / "site-packages")
    return [sys.executable, "-I", script, str(packages), str(model), str(port)]


@contextmanager
def _process(words: list[str], output: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process. End it by the end of its standard input; if that does not help, kill it."""
    quiet = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    run = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        env=quiet,
        start_new_session=True,  # Ctrl-C reaches us alone, and we end the server
    )
    try:
        yield run
    finally:
        assert run.stdin is not None
        run.stdin.close()
        try:
            run.wait(_LEAVES_S)
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()


def _wait(real: Server, address: Address, run: "subprocess.Popen[bytes]") -> None:
    """Wait until it answers. Raises TimeoutError if it ends or does not."""
    until = time.monotonic() + _READY_S
    while time.monotonic() < until and run.poll() is None:
        try:
            if not http.ask(address, real.ready, seconds=5).refused:
                return
        except http.ServerFailure:
            pass
        time.sleep(0.1)
    raise TimeoutError
