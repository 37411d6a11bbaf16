"""builds: folders of libllama, registered and fetched, and the signatures of old releases."""

import ctypes
import platform
import shutil
import struct
import tarfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.llama_cpp import builds, recorded
from sampler_parity.harness.llama_cpp.build_files import check
from sampler_parity.harness.llama_cpp.libllama import (
    CONTEXT_PARAMS,
    Libllama,
    ModelParams,
    default_folder,
)
from sampler_parity.harness.llama_cpp.signatures import signature
from sampler_parity.harness.llama_cpp.worker import Worker
from scripts.follow.structures import written_by
from tests.support.command_line import cli, refused

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the made libraries are for Linux on x86-64",
)

WITH_DRY = ["b4753", "b5590", "b6673", "b8352", "v0.4.0"]
RELEASES = ["b3889", "b3995", "b4291", "b4435", *WITH_DRY, "b11549"]
METADATA = '{"buildOptions": {"llamaCpp": {"release": "b4753"}}}'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, for this process and those that it starts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sampler-parity" / "builds"


def elf(machine: int = 62, size: int = 128) -> bytes:
    """A header of 64 bytes that announces one section header of 64 bytes behind it."""
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQI", 3, machine, 1, 0, 0, 64, 0)
    header += struct.pack("<HHHHHH", 64, 0, 0, 64, 1, 0)
    return (header + bytes(64))[:size]


def folder_with(folder: Path, data: bytes, name: str = "libllama.so") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


def stand_in_npm(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program `npm` that takes the place of the real one."""
    folder.mkdir()
    (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def package_in(folder: Path, version: str) -> Path:
    """Write a package of npm with a build of b4753, as VERSION.tgz."""
    made = folder_with(folder / version / "bins" / "linux-x64", elf())
    (made / "_nlcBuildMetadata.json").write_text(METADATA)
    with tarfile.open(folder / f"{version}.tgz", "w:gz") as tar:
        tar.add(folder / version, "package")
    return folder / f"{version}.tgz"


def registered(name: str) -> tuple[Path, str]:
    """A build of the user's cache; skips the test without it, as tests do not use the network."""
    if recorded.find(name) is None:
        pytest.skip(f"build {name} is not in the cache: see docs/background/builds.md")
    folder, release = recorded.resolve(name)
    return folder, release or ""


@pytest.mark.slow
def test_a_folder_is_registered_by_name_and_runs(cache: Path, tmp_path: Path) -> None:
    done = cli("builds", "add", f"mine={default_folder()}", "--release", "v0.5.0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mine  v0.5.0  sha256 ")
    assert cli("builds", "list").stdout.split()[:2] == ["mine", "v0.5.0"]
    done = cli("run", "parity/top_p", "-b", "llama.cpp@mine", "-o", tmp_path / "b", "-j", "1")
    assert done.returncode == 0, done.stdout
    assert "llama.cpp@mine v0.5.0" in done.stdout


def test_a_folder_that_does_not_say_its_release_is_what_its_library_says() -> None:
    worker = Worker(str(default_folder()))
    assert worker.library.release == "v0.5.0"
    assert worker.hello().version == "v0.5.0, as the library reports"


def test_a_library_that_does_not_say_its_release_is_refused_in_one_line(
    cache: Path, tmp_path: Path
) -> None:
    """The library of v0.5.0, with the name of its version function changed."""
    folder = tmp_path / "f"
    shutil.copytree(default_folder(), folder)
    library = folder / "libllama.so"
    library.write_bytes(library.read_bytes().replace(b"llama_version\0", b"llama_versiom\0"))
    line = refused(cli("run", "parity/top_p", "-b", f"llama.cpp@{folder}", "-o", tmp_path / "b"))
    assert f"{library}: does not report its release of llama.cpp - name it: " in line
    assert "--release" in line
    builds.add(f"named={folder}", "v0.5.0")
    assert builds.worker_arguments("named")[1] == "v0.5.0"


@pytest.mark.parametrize(
    ("reported", "problem"),
    [
        (None, "does not report its release of llama.cpp"),
        (b"0.6.1", "reports v0.6.1; the signatures of its samplers are known up to v0.5.0"),
    ],
    ids=["nothing", "newer"],
)
def test_a_library_is_not_called_by_guess(
    reported: bytes | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Libllama(default_folder())
    monkeypatch.setattr(library, "llama_version", reported and (lambda: reported))
    with pytest.raises(InputError, match=problem):
        library._reported()


def test_the_list_says_why_a_build_cannot_be_used(cache: Path, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "f", elf())
    builds.add(f"gone={folder}")
    shutil.rmtree(folder)
    assert builds.describe() == [
        f"gone           unusable: {folder}: is not a folder - name one that holds a libllama"
    ]


def test_the_list_names_devices_that_cannot_be_asked(cache: Path, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "f", elf(), "libllama.vulkan.b6673.so")
    for name in ("base", "cpu-haswell", "vulkan"):
        folder_with(folder, elf(), f"libggml-{name}.so")
    builds.add(f"x={folder}")
    first, second = builds.describe()
    assert first == "x              b6673            unknown"
    assert second.strip().startswith("not here: haswell, vulkan (exit status 1: OSError: ")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (elf(machine=183), "libllama.so: built for arm64, this processor is x86-64"),
        (elf(machine=8), "built for machine 8, this processor is x86-64"),
        (elf(size=127), "libllama.so: is truncated"),
        (elf(size=40), "is truncated, or not a shared library"),
        (b"MZ" + bytes(200), "is truncated, or not a shared library"),
        (None, "no libllama.so here - name a folder with a libllama build"),
    ],
    ids=["arm64", "another", "one-byte-short", "no-header", "no-elf", "none"],
)
@pytest.mark.parametrize("command", ["add", "run"])
def test_a_folder_that_cannot_be_loaded_is_refused_in_one_line(
    cache: Path,
    tmp_path: Path,
    data: bytes | None,
    problem: str,
    command: str,
) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    if data is not None:
        folder_with(folder, data)
    if command == "add":
        line = refused(cli("builds", "add", f"mine={folder}"))
    else:
        line = refused(cli("run", "parity/top_p", "-b", f"llama.cpp@{folder}", "-o", tmp_path))
    assert problem in line
    assert builds.describe() == []


def test_a_library_that_libllama_needs_is_checked_too(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "f", elf())
    folder_with(folder, elf(machine=183), "libggml.so")
    with pytest.raises(InputError, match=r"libggml.so: built for arm64"):
        check(folder)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["x"], "x: is not a build - write node-llama-cpp@VERSION or NAME=FOLDER"),
        (["left-pad@1.0.0"], "left-pad: is not a supported package of builds"),
        (["node-llama-cpp@1 2"], "invalid version"),
        (["../x=."], "build '../x': invalid name"),
        (["node-llama-cpp@3.1.1", "--release", "b1"], "--release: a package reports its own"),
    ],
    ids=["nothing", "package", "version", "name", "release"],
)
def test_what_is_no_build_is_refused(cache: Path, arguments: list[str], problem: str) -> None:
    assert problem in refused(cli("builds", "add", *arguments))


def test_a_release_that_is_none_is_refused(cache: Path, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "f", elf())
    line = refused(cli("builds", "add", f"x={folder}", "--release", "latest"))
    assert line.endswith("release 'latest': is not a release of llama.cpp - write b4753 or v0.5.0")


@pytest.mark.parametrize("code", ["E404", "ETARGET"])
def test_an_unknown_package_or_version_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    stand_in_npm(tmp_path / "bin", monkeypatch, f"echo 'npm error code {code}' >&2; exit 1")
    line = refused(cli("builds", "add", "node-llama-cpp@0.0.1"))
    assert line.endswith(f"@0.0.1: npm knows no such package or version ({code})")


def test_without_npm_the_line_says_so(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    line = refused(cli("builds", "add", "node-llama-cpp@3.1.1"))
    assert line.endswith("npm: is not installed - install Node.js, or add NAME=FOLDER")


def test_a_package_is_unpacked_and_recorded(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = package_in(tmp_path, "3.6.0")
    stand_in_npm(tmp_path / "bin", monkeypatch, f'cp {archive} "$4"')
    build = builds.add("@node-llama-cpp/linux-x64-vulkan@3.6.0")
    assert (build.name, build.release) == ("b4753-vulkan", "b4753")
    assert build.package == "@node-llama-cpp/linux-x64-vulkan@3.6.0"
    assert build.sha256 == sha256_of(archive)
    assert recorded.find("b4753-vulkan") == build
    assert (cache / "b4753-vulkan" / "libllama.so").read_bytes() == elf()


def test_a_second_package_of_a_release_stands_next_to_the_first_and_says_so(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("3.6.0", "3.6.1"):
        package_in(tmp_path, version)
    copy = f'cp {tmp_path}/"${{2##*@}}".tgz "$4"'
    stand_in_npm(tmp_path / "bin", monkeypatch, copy)
    first = cli("builds", "add", "@node-llama-cpp/linux-x64@3.6.0").stdout
    assert len(first.splitlines()) == 1
    second = cli("builds", "add", "@node-llama-cpp/linux-x64@3.6.1").stdout.splitlines()
    assert second[0].startswith("b4753-3.6.1  b4753  sha256 ")
    assert second[1] == "b4753 stays @node-llama-cpp/linux-x64@3.6.0; this one is b4753-3.6.1"
    again = builds.add("@node-llama-cpp/linux-x64@3.6.0")
    assert again.name == "b4753"
    assert {line.split()[0] for line in builds.describe()} == {"b4753", "b4753-3.6.1"}


def test_a_truncated_package_is_refused_and_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made.tgz").write_bytes(b"\x1f\x8b\x08\x00")
    stand_in_npm(tmp_path / "bin", monkeypatch, f'cp {tmp_path}/made.tgz "$4"')
    with pytest.raises(InputError, match=r"made.tgz: cannot be unpacked"):
        builds.add("node-llama-cpp@3.6.0")
    assert builds.describe() == []


def test_a_record_that_is_none_is_listed_as_unusable(cache: Path) -> None:
    folder_with(cache / "x", b"{}", "build.json")
    (line,) = builds.describe()
    assert line.startswith("x              unusable: ")
    assert line.endswith("build.json: is not a valid record of a build - add the build again")


@pytest.mark.parametrize(
    ("release", "first", "count"),
    [
        ("b3889", "n_vocab", 9),
        ("b4291", "n_vocab", 9),
        ("b4435", "penalty_last_n", 4),
        ("b10200", "penalty_last_n", 4),
        ("b10405", "n_vocab", 5),
        ("v0.5.0", "n_vocab", 5),
    ],
)
def test_penalties_takes_what_its_release_takes(release: str, first: str, count: int) -> None:
    taken = signature("penalties", release).arguments
    assert (taken[0], len(taken)) == (first, count)


@pytest.mark.parametrize("release", ["b4300", "b10300", "b3000", "v0.6.0"])
def test_a_release_that_was_not_seen_is_not_guessed_at(release: str) -> None:
    with pytest.raises(Unsupported, match=f"its signature in llama.cpp {release} is unknown"):
        signature("penalties", release)


def test_a_sampler_that_a_build_exports_is_uncallable_where_its_signature_is_not_known() -> None:
    """The library of v0.5.0, registered as b4500: it has adaptive_p, and no softmax."""
    hello = Worker(str(default_folder()), "b4500").hello()
    assert hello.uncallable["adaptive_p"].startswith(
        "it has adaptive_p, but its signature in llama.cpp b4500 is unknown, only those of"
        " b7836 to b11549 are known:"
        " compare llama_sampler_init_adaptive_p in its llama.h with those"
    )
    assert "xtc" in hello.samplers
    assert "softmax" not in {*hello.samplers, *hello.uncallable}
    assert Worker().hello().uncallable == {}


def left_by(
    folder: Path, release: str, stage: Any, history: Sequence[int], n: int, vocab: str | None = None
) -> list[float]:
    """Return what one stage of a build leaves of n logits of n, after tokens."""
    worker = Worker(str(folder), release)
    chain = worker.build([stage], n, vocab)
    for token in history:
        chain.accept(token)
    candidates = worker.candidates(np.full(n, n, np.float32))
    chain.apply(0, candidates)
    return [float(logit) for logit in candidates.current()["logit"]]


def penalized(folder: Path, release: str) -> list[float]:
    """Five logits of 5 after tokens 3, 1, 1 with a window of two."""
    stage = {"penalty_last_n": 2, "penalty_repeat": 2.0}
    stage |= {"penalty_freq": 0.5, "penalty_present": 0.25}
    return left_by(folder, release, {"penalties": stage}, (3, 1, 1), 5)


@pytest.mark.parametrize("name", RELEASES)
def test_penalties_of_every_release_is_given_its_arguments(name: str) -> None:
    """5 / 2 - 2 x 0.5 - 0.25 = 1.25; token 3 has left the window."""
    assert penalized(*registered(name)) == [5.0, 1.25, 5.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("name", "taken"), [("b3889", "b4753"), ("b4753", "b3889"), ("b4753", "v0.5.0")]
)
def test_the_arguments_of_another_release_would_be_seen(name: str, taken: str) -> None:
    folder, _ = registered(name)
    assert penalized(folder, taken) != [5.0, 1.25, 5.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("b3889", {"softmax", "tail_free"}, {"xtc", "dry", "infill", "top_n_sigma", "adaptive_p"}),
        ("b4753", {"softmax", "xtc", "dry", "top_n_sigma"}, {"tail_free", "adaptive_p"}),
        ("b6673", {"xtc", "dry", "top_n_sigma"}, {"softmax", "tail_free", "adaptive_p"}),
    ],
)
def test_a_build_names_its_release_and_what_it_has(
    name: str, has: set[str], lacks: set[str]
) -> None:
    registered(name)
    with closing(registry.start(f"llama.cpp@{name}")) as backend:  # a process holds only one ggml
        hello = backend.hello()
    assert hello.version == name
    assert has <= set(hello.samplers)
    assert not lacks & set(hello.samplers)


@pytest.mark.parametrize("name", WITH_DRY)
def test_dry_and_the_vocabulary_are_given_to_every_release_as_it_takes_them(name: str) -> None:
    """After 1 2 3 1 2, token 3 would make a repeat of 2 a repeat of 3: 8 - 2 x 1.5 ** (2 - 2)."""
    folder, release = registered(name)
    stage: dict[str, Any] = {"dry_multiplier": 2.0, "dry_base": 1.5, "dry_allowed_length": 2}
    stage |= {"dry_penalty_last_n": 5, "seq_breakers": []}
    left = left_by(folder, release, {"dry": stage}, (1, 2, 3, 1, 2), 8, str(vocab_path("bpe")))
    assert left == [8.0, 8.0, 8.0, 6.0, 8.0, 8.0, 8.0, 8.0]


def test_a_later_build_lays_out_a_model_s_parameters_as_v0_5_0_does_and_a_context_s_not() -> None:
    """b11549: the parameters of a context have grown by 8 bytes.

    If a shorter structure is passed, the library writes past its end and breaks the heap.
    """
    later, _ = registered("b11549")
    ours, theirs = Libllama(default_folder())._library, Libllama(later, "b11549")._library
    model = written_by(ours.llama_model_default_params)
    assert written_by(theirs.llama_model_default_params) == model
    assert len(model) == ModelParams.load_mtp.offset + 1 == 78
    context = [written_by(lib.llama_context_default_params) for lib in (ours, theirs)]
    sizes = [ctypes.sizeof(CONTEXT_PARAMS[release]) for release in ("v0.5.0", "b11549")]
    assert [len(bytes_) for bytes_ in context] == sizes == [160, 168]
    # from the booleans on, which no longer begin where they did, all is as it was
    assert context[0][:112] + bytes(8) + context[0][112:] == context[1]


def test_a_release_whose_context_is_not_known_decodes_nothing() -> None:
    worker = Worker(str(default_folder()), "b10809")
    assert worker._decodes() == []


def test_softmax_and_tail_free_are_identical_at_b3889(tmp_path: Path) -> None:
    registered("b3889")
    options = ("--reference", "own", "-b", "llama.cpp@b3889", "-o", tmp_path / "b")
    done = cli("run", "removed", *options)
    assert done.returncode == 0, done.stdout
    assert "736/736 identical" in done.stdout


@pytest.mark.parametrize("name", ["softmax", "tail_free"])
@pytest.mark.slow
def test_removed_samplers_are_skipped_on_the_default_build(tmp_path: Path, name: str) -> None:
    case = {"softmax": "one-candidate", "tail_free": "crossing-goes-too"}[name]
    done = cli("run", "removed", "--case", f"{name}/{case}", "-o", tmp_path / "b", "-j", "1")
    assert done.returncode == 2
    assert f"no sampler {name}" in done.stdout
    assert "1 skipped" in done.stdout
