"""Builds for other platforms: their runners, the error if one is missing, recorded results."""

import platform
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.llama_cpp import worker as native
from sampler_parity.harness.llama_cpp.build_files import digests_of_all
from sampler_parity.harness.llama_cpp.candidates import TOKEN_DATA
from sampler_parity.harness.llama_cpp.platforms import make, runners
from sampler_parity.harness.llama_cpp.platforms import worker as worker_of_platforms
from sampler_parity.harness.llama_cpp.platforms.program import Program, SamplerRefused
from sampler_parity.harness.llama_cpp.platforms.worker import Worker
from sampler_parity.harness.llama_cpp.recorded import Build, register
from sampler_parity.harness.llama_cpp.sources import PACKAGE
from sampler_parity.harness.run.plan import RunOptions, plan_of
from sampler_parity.reference.vocab import TokenType, Vocab
from tests.support.command_line import ROOT, cli, refused
from tests.support.platform_cases import DEFAULT, cases, names_of, outcome, real_build
from tests.support.platform_cases import recorded as results

REAL = {
    "libc++": "linux-x64-libc++14",
    "libc++19": "linux-x64-libc++19",
    "wasm": "wasm",
    "arm64-gcc": "linux-arm64-gcc",
    "v0.5.0-linux-arm64": "linux-arm64-clang",
    "musl": "linux-x64-musl",
    "x64-v3": "linux-x64-v3-gcc",
    "v0.4.0-win-x64": "windows-x64",
    "portable": "portable",
}


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """A build for arm64 that is a text file, in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files = tmp_path / "files"
    files.mkdir()
    (files / "worker").write_text("no program")
    build = Build(
        name="arm64-gcc",
        folder=str(recorded.builds_folder() / "arm64-gcc"),
        release="v0.5.0",
        sha256="",
        added="2026-11-22",
        libraries=digests_of_all(files),
        platform="linux-arm64-gcc",
        program="worker",
        runner="qemu-aarch64",
        recipe="arm64-gcc",
    )
    register(build, files)
    return build


def test_without_its_emulator_a_build_is_unavailable_and_the_package_is_named(
    arm: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    why = (
        "llama.cpp@arm64-gcc: built for linux-arm64-gcc, which qemu-aarch64-static runs here: "
        "not installed - apt-get install qemu-user-static"
    )
    assert runners.missing(arm) == why
    assert cli("builds", "list").stdout.strip().endswith(why)
    assert registry.inspect("llama.cpp@arm64-gcc").unavailable == why


def test_a_build_for_another_platform_is_not_timed(arm: Build) -> None:
    plan = plan_of(RunOptions(["parity/temp"], [f"llama.cpp@{arm.name}"], profile="full"))
    assert not plan.ruled


def test_on_its_own_processor_a_build_needs_no_emulator(
    arm: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert runners.missing(arm) == ""
    assert runners.command_of("arm64-gcc")[1] == [f"{arm.folder}/worker"]


def test_a_build_whose_program_was_changed_is_refused(
    arm: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    (Path(arm.folder) / "worker").write_text("another")
    with pytest.raises(InputError, match=r"has changed since .* `sampler-parity builds make arm64"):
        registry.inspect("llama.cpp@arm64-gcc")


@pytest.mark.parametrize("name", make.made())
def test_without_its_compiler_the_packages_are_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    packages = " ".join(make.made()[name].packages)
    assert f": not installed - apt-get install {packages}" in refused(cli("builds", "make", name))


def test_all_that_several_builds_lack_is_named_before_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "g++").touch(mode=0o755)
    (tmp_path / "gcc").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(make, "compile_alone", lambda *_: pytest.fail("compiled"))
    assert refused(cli("builds", "make", "x64-v3", "portable-arm64-gcc", "wasm", "arm64-gcc")) == (
        "sampler-parity: aarch64-linux-gnu-g++, aarch64-linux-gnu-gcc, patch, qemu-aarch64-static,"
        " em++, emcc, node: not installed - apt-get install g++-aarch64-linux-gnu patch"
        " qemu-user-static emscripten nodejs"
    )
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "qemu" not in refused(cli("builds", "make", "x64-v3", "arm64-gcc"))


def test_a_recipe_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert "no recipe - use libc++, libc++19, x64-v3, musl, wasm, arm64-gcc" in refused(
        cli("builds", "make", "plan9")
    )


def test_builds_for_webassembly_may_draw_alike_without_a_seed() -> None:
    """The clock is their seed; portable-wasm was left out until a machine was quick enough."""
    block, *_ = tomllib.loads((ROOT / "suites/parity/unseeded.toml").read_text())["matrix"]
    builds = {f"llama.cpp@{name}" for name, made in make.made().items() if made.runner == "node"}
    assert builds == {"llama.cpp@wasm", "llama.cpp@portable-wasm"}
    assert builds < block["requires"].keys()


def test_the_sources_are_those_of_the_pinned_package() -> None:
    pin = PACKAGE.replace("_", "-")
    assert f"{pin} \\" in (ROOT / "locked.txt").read_text().splitlines()


@pytest.mark.parametrize(
    ("breakers", "words"),
    [
        (["inf", None, "-"], "3 x696e66 - x2d"),
        (["", "a b\n", "1"], "3 x x6120620a x31"),
        ([], "0"),
    ],
)
def test_a_breaker_stays_a_text_whatever_it_reads_as(
    breakers: list[str | None], words: str
) -> None:
    assert worker_of_platforms._argument("seq_breakers", {"seq_breakers": breakers}) == words


def test_a_breaker_of_tokens_is_refused_as_by_every_llama_cpp() -> None:
    with pytest.raises(Unsupported, match="as strings only"):
        worker_of_platforms._argument("seq_breakers", {"seq_breakers": ["a", [1]]})


@pytest.mark.parametrize("name", ["top_p", "min_p", "typical_p", "xtc"])
def test_a_number_that_does_not_fit_in_size_t_is_unsupported(arm: Build, name: str) -> None:
    class Asked:
        def ask(self, *words: object) -> tuple[object, ...]:
            return words[-1:]

    worker: Any = Worker.__new__(Worker)
    worker.program = Asked()
    stage = {"p": 0.5, "t": 0.1, "seed": 1}

    def init(runner: str, min_keep: int) -> None:
        worker._build = arm.model_copy(update={"runner": runner})
        worker._init({name: {**stage, "min_keep": min_keep}}, 2, None)

    init("node", (1 << 32) - 1)
    init("qemu-aarch64", 1 << 32)
    with pytest.raises(Unsupported, match="32 bits: min_keep does not fit"):
        init("node", 1 << 32)


def test_half_a_character_is_no_special_token() -> None:
    vocab = Vocab("spm", ("<s>", "\ufffd"), (TokenType.CONTROL, TokenType.NORMAL), (0.0, 0.0))
    tokens = worker_of_platforms._tokens
    assert tokens(vocab, b"<s>", True) == [0]
    assert tokens(vocab, "\ufffd".encode(), True) == [1]
    assert tokens(vocab, b"\xe2\x82", True) == vocab.tokenize(b"\xe2\x82")


def program(script: str) -> closing[Program]:
    return closing(Program([sys.executable, "-IS", "-c", script]))


def test_a_program_is_asked_and_asks_how_a_text_is_split() -> None:
    script = "input(); print('tokenize 1 x6162', flush=True); print('ok', input())"
    with program(script) as one:
        one.tokenize = lambda text, special: [len(text), int(special)]
        assert one.ask("init", "dry") == ["2", "1"]


def test_what_a_program_refuses_is_reported_in_its_words() -> None:
    script = "input(); print('refused no such rule')"
    with program(script) as one, pytest.raises(SamplerRefused, match=r"^no such rule$"):
        one.ask("init", "grammar")


def test_a_program_that_dies_ends_its_worker_with_its_status() -> None:
    message = "the program ended with status 3"
    with program("input(); raise SystemExit(3)") as one, pytest.raises(SystemExit, match=message):
        one.ask("hello")


def test_half_an_array_is_no_answer() -> None:
    script, message = "input(); print('ok 2 0 1\\nhalf')", "the program ended with status 0"
    with program(script) as one, pytest.raises(SystemExit, match=message):
        one.apply(1, np.zeros(2, TOKEN_DATA), -1, False)


def test_the_installed_llama_cpp_gives_what_was_recorded_of_it() -> None:
    worker, expected = native.Worker(), results()["results"][DEFAULT]
    some = list(cases())[::5]
    assert [name for name in some if outcome(worker, cases()[name]) != expected[name]] == []


@pytest.mark.nightly
@pytest.mark.parametrize("build", REAL)
def test_a_real_build_gives_what_was_recorded_of_its_platform(build: str) -> None:
    of = results()["results"]
    expected = of[DEFAULT] | of[REAL[build]]
    with real_build(build) as worker:
        outcomes = {name: outcome(worker, cases()[name]) for name in names_of(REAL[build])}
    assert [name for name in outcomes if outcomes[name] != expected[name]] == []


@pytest.mark.parametrize(
    ("system", "machine", "libc", "compiler", "row"),
    [
        ("Linux", "x86_64", "glibc", "GCC: (Debian 12.2.0) 12.2.0", "linux-x64-gcc"),
        ("Linux", "x86_64", "", "GCC: (Alpine 14.2.0) 14.2.0", "linux-x64-musl"),
        ("Linux", "aarch64", "glibc", "GCC: (Ubuntu 13.3.0) 13.3.0", "linux-arm64-gcc"),
        ("Linux", "aarch64", "glibc", "clang version 18.1.3", "linux-arm64-clang"),
        ("Darwin", "arm64", "", "Apple clang version 17.0.0", "macos-arm64"),
        ("Darwin", "x86_64", "", "", "macos-x64"),
        ("Windows", "AMD64", "", "", "windows-x64"),
        ("FreeBSD", "amd64", "", "", "linux-x64-gcc"),
    ],
)
def test_a_platform_is_known_by_system_processor_and_compiler(
    system: str, machine: str, libc: str, compiler: str, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "libc_ver", lambda: (libc, ""))
    assert runners.platform_here(compiler) == row


def test_own_is_the_installed_llama_cpps_own_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "platform_here", lambda compiler: "linux-arm64-gcc")
    assert registry.references(["llama.cpp"], "own") == {"llama.cpp": "v0.5.0/linux-arm64-gcc"}


def test_here_own_is_the_release_alone() -> None:
    if runners.platform_here("") != "linux-x64-gcc":
        pytest.skip("this is another platform")
    assert registry.references(["llama.cpp"], "own") == {"llama.cpp": "v0.5.0"}
