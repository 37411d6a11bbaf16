"""A stored kit is compared with the suites and the reference: each planted change is named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.vectors.stored import difference
from sampler_parity.vectors.written import Contents, write
from tests.support.command_line import cli

pytestmark = pytest.mark.slow
FILE = "vectors/top_k.json"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit")
    write(Contents(["parity/top_k"], "quick", 130), folder)
    return folder


@pytest.fixture
def kit(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "kit"))


def of_tests(change: Callable[[list[Any]], Any]) -> Callable[[Path], None]:
    """Return a change of the tests in their file."""

    def changed(kit: Path) -> None:
        data = json.loads((kit / FILE).read_text())
        change(data["tests"])
        (kit / FILE).write_text(json.dumps(data))

    return changed


def a_long_row(kit: Path) -> None:
    rows = bytearray((kit / "rows.f32").read_bytes())
    rows[1] ^= 1
    (kit / "rows.f32").write_bytes(rows)


def the_version(kit: Path) -> None:
    index = json.loads((kit / "index.json").read_text())
    (kit / "index.json").write_text(json.dumps(index | {"sampler_parity": "0.0.1"}))


CHANGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a number": (of_tests(lambda t: t[3]["logits"].__setitem__(0, 7)), "logits[0] differs: 7, not"),
    "a missing vector": (of_tests(lambda tests: tests.pop(3)), "is missing"),
    "one more vector": (of_tests(lambda tests: tests.append({"id": "x"})), "x comes from no case"),
    "a long row": (a_long_row, "logits differs"),
    "the rules": (lambda kit: (kit / "README.md").write_text(""), "README.md differs"),
    "a missing file": (lambda kit: (kit / FILE).unlink(), f"{FILE} is missing"),
    "one more file": (lambda kit: shutil.copy(kit / FILE, kit / "vectors" / "x.json"),
                      "vectors/x.json has tests of no suite"),
    "a version": (the_version, "index.json: sampler_parity is '0.0.1', and here '"),
}  # fmt: skip


def test_a_kit_as_it_was_written_has_no_difference(kit: Path) -> None:
    assert difference(kit) == ""


@pytest.mark.parametrize("name", CHANGES)
def test_a_planted_change_is_named(kit: Path, name: str) -> None:
    change, problem = CHANGES[name]
    third = json.loads((kit / FILE).read_text())["tests"][3]["id"]
    change(kit)
    named = difference(kit)
    assert problem in named
    assert third in named or name not in ("a number", "a missing vector")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"tests": 3}'])
def test_a_folder_that_is_no_kit_is_refused(kit: Path, text: str) -> None:
    (kit / FILE).write_text(text)
    with pytest.raises(InputError):
        difference(kit)
    with pytest.raises(InputError):
        difference(kit / "vectors")


def test_the_command_exits_with_1_for_a_changed_kit(kit: Path) -> None:
    assert cli("vectors", "--check", kit).returncode == 0
    the_version(kit)
    done = cli("vectors", "--check", kit)
    assert (done.returncode, done.stdout[:27]) == (1, "index.json: sampler_parity ")
    for options in (("-o", kit), ("--max-vocab", "9")):
        assert cli("vectors", "--check", kit, *options).returncode == 2
    assert cli("vectors").returncode == 2
