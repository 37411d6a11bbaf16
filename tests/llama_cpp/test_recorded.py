"""A registered build is the one that `builds add` recorded; a bundle names the loaded build."""

import json
import platform
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.llama_cpp import builds, recorded
from sampler_parity.harness.llama_cpp.build_files import digest_of, digests
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.protocol.interface import BackendFailure
from tests.support.command_line import cli, refused

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the names of the libraries are Linux's",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the installed libraries, registered as `mine` in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "f"
    folder.mkdir()
    for path in default_folder().glob("lib*.so*"):
        if path.name.startswith(("libllama.so", "libggml")):
            shutil.copy(path, folder)
    builds.add(f"mine={folder}", "v0.5.0")
    return folder


def change(path: Path) -> None:
    """Flip a bit of its last byte, in a string table that no load reads."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def record() -> Path:
    return recorded.builds_folder() / "mine" / "build.json"


def test_each_library_is_recorded_with_its_digest(folder: Path) -> None:
    build = recorded.find("mine")
    assert build is not None
    assert {"libllama.so", "libggml.so", "libggml-base.so", "libggml-cpu.so.0"} <= {
        *build.libraries
    }
    for name, digest in build.libraries.items():
        assert digest == sha256_of(folder / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["libllama.so", "libggml-cpu.so.0"])
def test_a_run_of_a_build_that_has_changed_is_refused_in_one_line(
    folder: Path, tmp_path: Path, name: str
) -> None:
    change(folder / name)
    line = refused(cli("run", "parity/greedy", "-b", "llama.cpp@mine", "-o", tmp_path / "b"))
    assert line == (
        f"sampler-parity: {folder / name}: has changed since `builds add` recorded the build mine"
        f" - if that was you, `sampler-parity builds add mine={folder} --release v0.5.0`"
    )
    assert not (tmp_path / "b").exists()


def test_a_library_that_came_or_went_is_named(folder: Path) -> None:
    shutil.copy(folder / "libggml.so", folder / "libggml-evil.so")
    with pytest.raises(InputError, match=r"libggml-evil.so: is new since `builds add`"):
        recorded.unchanged("mine")
    (line,) = builds.describe()
    assert line.startswith("mine           unusable: ")
    (folder / "libggml-evil.so").unlink()
    (folder / "libggml-cpu.so.0").unlink()
    with pytest.raises(InputError, match=r"libggml-cpu.so.0: is gone since `builds add`"):
        recorded.unchanged("mine")


def test_adding_the_build_again_takes_it_as_it_is(folder: Path) -> None:
    change(folder / "libggml-cpu.so.0")
    builds.add(f"mine={folder}", "v0.5.0")
    assert recorded.unchanged("mine") == digests(folder)


@pytest.mark.slow
def test_a_worker_opens_no_library_that_has_changed(folder: Path) -> None:
    """The change comes after the run checked it, between two of its processes."""
    message = r"libllama.so: has changed since `builds add`"
    with closing(registry.start("llama.cpp@mine")) as backend:
        change(folder / "libllama.so")
        with pytest.raises(BackendFailure, match=message):
            backend.hello()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["libllama.so", "libggml-cpu.so.0"])
def test_of_the_record_of_an_older_version_the_digest_of_libllama_holds(
    folder: Path, name: str
) -> None:
    data = json.loads(record().read_text())
    del data["libraries"]
    record().write_text(json.dumps(data))
    assert recorded.unchanged("mine") == digests(folder)
    change(folder / name)
    if name != "libllama.so":
        assert recorded.unchanged("mine") == digests(folder)
        return
    with pytest.raises(InputError, match=r"libllama.so: has changed"):
        recorded.unchanged("mine")


@pytest.mark.slow
def test_a_backend_is_described_with_what_it_loads(folder: Path) -> None:
    """So two bundles whose builds differ only in a library can be distinguished."""
    before = registry.inspect("llama.cpp")
    assert before.libraries == digests(default_folder())
    assert before.build.endswith(f", sha256 {digest_of(before.libraries)}")
    change(folder / "libggml-cpu.so.0")
    after = builds.libraries(str(folder))
    changed = {name for name in before.libraries if after.get(name) != before.libraries[name]}
    assert changed == {"libggml-cpu.so.0"}
    assert digest_of(after) != digest_of(before.libraries)


@pytest.mark.slow
def test_what_is_loaded_of_the_installed_build_is_in_its_description() -> None:
    assert sys.platform == "linux"
    with closing(registry.start("llama.cpp")) as backend:
        backend.hello()
        maps = Path(f"/proc/{backend.pid}/maps").read_text()
    lines = (line.split(maxsplit=5) for line in maps.splitlines())
    paths = {Path(line[5]) for line in lines if len(line) == 6}
    loaded = {path.name for path in paths if path.parent == default_folder()}
    assert len(loaded) >= 4
    assert loaded <= digests(default_folder()).keys()
