"""Hostile values of every option that is a path or a number: each is refused in one line.

The options are read from the commands, so a new option must be added here.
"""

import os
import sys
import tomllib
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import write_text
from sampler_parity.harness.trie.workloads import read_descriptor
from tests.attack.fuzzing.trial import in_time
from tests.support.command_line import COMMANDS, Done, cli, refused
from tests.support.recordings import write_recording
from tests.support.report_bundles import case, diverged, run_info, write_bundle

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the paths are of POSIX"),
    pytest.mark.slow,  # all of them together
]

TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LATE = {f"{command} {option}" for command, late in TABLE["late"].items() for option in late}


def _pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


def _below_a_file(folder: Path) -> str:
    (folder / "file").write_text("x")
    return str(folder / "file" / "x")


def _loop(folder: Path) -> str:
    (folder / "loop").symlink_to(folder / "loop")
    return str(folder / "loop")


PATHS: dict[str, Callable[[Path], str]] = {
    "nothing there": lambda folder: str(folder / "none"),
    "a folder": str,
    "a pipe": _pipe,
    "below a file": _below_a_file,
    "a loop": _loop,
    "no UTF-8": lambda folder: str(folder / "\udcff\x1b[2J"),
    "300 characters": lambda _: "x" * 300,
    "5,000 characters": lambda _: "x" * 5_000,
    "a full device": lambda _: "/dev/full",
    "a device without end": lambda _: "/dev/zero",
    "of the system": lambda _: "/proc/self/mem",
    "empty": lambda _: "",
    "code": lambda _: "::error::\x1b[2J\u202e\n",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    bad = diverged(values={"rank": 0, "got": 1, "expected": 2})
    write_bundle(folder / "b", run_info("a"), [case("greedy/x", {"a": bad})], [])
    write_recording(folder / "r", steps=1)
    return folder / "b"


def done_with(line: str, path: str, good: Path) -> Done:
    with in_time():
        return cli(
            *(word.replace("{good}", str(good)).replace("{}", path) for word in line.split())
        )


def harmless(done: Done) -> None:
    for line in (done.stdout + done.stderr).splitlines():
        assert line.isprintable()
        assert not line.lstrip().startswith("::")


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("command", TABLE["read"])
def test_a_hostile_path_that_is_read_is_refused_in_one_line(
    tmp_path: Path, good: Path, command: str, kind: str
) -> None:
    done = done_with(TABLE["read"][command], PATHS[kind](tmp_path), good)
    harmless(done)
    if done.stderr.startswith("Usage:"):
        assert done.returncode == 2
    else:
        assert len(refused(done)) < 2_200


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("command", TABLE["written"])
def test_a_hostile_path_that_is_written_is_taken_or_refused_in_one_line(
    tmp_path: Path, good: Path, command: str, kind: str
) -> None:
    path = os.path.join(tmp_path, PATHS[kind](tmp_path))
    done = done_with(TABLE["written"][command], path, good)
    harmless(done)
    if done.returncode == 2:
        assert len(refused(done)) < 2_200


def options(*kinds: type) -> Iterator[tuple[str, str]]:
    """Yield command and option of these types."""
    for name, command in COMMANDS.items():
        for parameter in command.params:
            kind = parameter.type_descriptor.annotation
            if {kind, *typing.get_args(kind)} & {*kinds}:
                yield name, max(parameter.opts, key=len)


def test_every_path_of_every_command_is_tried() -> None:
    paths = {f"{command} {option}" for command, option in options(Path)}
    assert len(paths) > 40
    assert paths <= {*TABLE["read"], *TABLE["written"], *LATE}


NUMBERS = ["-1", "nan", "inf", "-inf", "1e400", "9" * 30, "9" * 5_000, "", "x", "\u0663" * 8]


@pytest.mark.parametrize(("command", "option"), [*options(int, float)])
def test_a_hostile_number_is_refused(command: str, option: str) -> None:
    for number in NUMBERS:
        given = [option, number] if len(option) == 2 else [f"{option}={number}"]
        done = cli(*command.split(), *TABLE["needed"].get(command, "").split(), *given)
        assert done.returncode == 2, (number, done)
        assert "No such option" not in done.stderr
        harmless(done)


def test_a_pipe_of_leaves_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "leaves.json")
    with in_time(), pytest.raises(InputError, match="it is not a regular file, but a folder"):
        read_descriptor(str(tmp_path / "leaves.json"), "m", lambda _: [])


def test_a_pipe_that_is_read_is_written_into(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)


@pytest.mark.parametrize("name", ["llama.cpp@" + "x" * 300, "llama.cpp@" + "x" * 300 + ":cuda"])
def test_a_build_of_a_long_name_is_refused_where_it_is_named(name: str) -> None:
    with pytest.raises(InputError, match="neither a registered build nor a folder"):
        command_of(name)
