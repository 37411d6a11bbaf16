"""The native backend, started once for all tests that compare with it."""

import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import typer.main
import typer.testing

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.llama_cpp.libllama import Libllama, default_folder
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.processes import groups
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.run import shrinking as smaller
from sampler_parity.harness.suite.expansion_cache import Expansions
from tests.support.chromium import See, Seen, chromium, look
from tests.support.copied import copying
from tests.support.inside import Inside
from tests.support.once import checked_once, once_of
from tests.support.suites import SMALL
from tests.support.tiny_model import write_tiny_model

# No deadline: the first call compiles, and machines are busy.
hypothesis.settings.register_profile("sampler-parity", deadline=None)
hypothesis.settings.load_profile("sampler-parity")


_COPIED = [
    "sampler_parity.harness.run.judging",
    "sampler_parity.harness.protocol.serve",
    "sampler_parity.harness.llama_cpp.worker",
    "sampler_parity.harness.faults.worker",
    "tests.support.copied",
    "tests.support.warm",
]
_LONGEST = ("test_lint.py", "test_installed_wheel.py")  # the second takes what the first compiled


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the fork server of all runs before the first test. The workers of `-n 3` are copied
    from it."""
    if "PYTEST_XDIST_WORKER" in os.environ and sys.platform == "linux":
        get_context("forkserver").set_forkserver_preload(_COPIED)
        forkserver.ensure_running()
        groups.start = copying(groups.start)


# Building a command line from its functions takes 20 ms: do it once, not for a thousand calls.
typer.main.get_command = cache(typer.main.get_command)
vars(typer.testing)["_get_command"] = typer.main.get_command

# A command of a user has the digest of the code made, and one suite expanded again, once in its
# process. Tests run hundreds of commands in one process, whose own files stay as they are.
machine._digest = once_of(machine._digest, lambda: machine._ROOT)
Expansions.spot_check = checked_once(Expansions.spot_check)  # type: ignore[assignment]


def pytest_collection(session: pytest.Session) -> None:
    """Stop the garbage collector while tests are collected, which saves an eighth of the time."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, then those with slow tests, so that all workers end together."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    places = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: (places.get(item.path.name, len(places)), item.path not in slow))


@pytest.fixture(scope="session")
def native() -> Iterator[BackendProcess]:
    """Start llama.cpp's samplers in a process of their own."""
    process = BackendProcess(
        "llama.cpp", [sys.executable, "-m", "sampler_parity.harness.backends.worker", "llama.cpp"]
    )
    yield process
    process.close()


@pytest.fixture(scope="session")
def libllama() -> Libllama:
    """Load libllama into this process, for its tokenizer."""
    return Libllama(default_folder())


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a tiny model: tests/support/tiny_model.py."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    write_tiny_model(path)
    return path


@pytest.fixture(scope="module")
def worker() -> Worker:
    """Build a worker of llama.cpp in this process."""
    return Worker()


@pytest.fixture
def inside(worker: Worker) -> Iterator[Callable[..., Inside]]:
    """Make backends that answer in this process: with llama.cpp, unless a worker is given."""
    made: list[Inside] = []

    def make(worker: Any = worker, **options: Any) -> Inside:
        made.append(Inside(worker, **options))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


@pytest.fixture
def as_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch minimizing off, for tests of a failing run that check something else."""
    monkeypatch.setattr(smaller, "MINIMIZED", 0)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Write a suite of 180 short cases."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def see(tmp_path: Path) -> See:
    """Show one or several pages in a headless Chromium, at each of these widths in CSS pixels."""
    program = chromium()
    if program is None:
        pytest.skip("unavailable: chromium is not installed")

    folders = (tmp_path / f"browser-{number}" for number in itertools.count())

    def see(page: str | list[str], *widths: int, act: str = "(page) => ''") -> list[Seen]:
        pages = [page] if isinstance(page, str) else page
        return look(program, pages, widths, next(folders), act)

    return see
