"""Which platform a libllama that is loaded here belongs to."""

import platform

import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.llama_cpp.platforms.runners import platform_here


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
    system: str,
    machine: str,
    libc: str,
    compiler: str,
    row: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "libc_ver", lambda: (libc, ""))
    assert platform_here(compiler) == row


def test_own_is_the_installed_llama_cpps_own_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "platform_here", lambda compiler: "linux-arm64-gcc")
    assert registry.references(["llama.cpp"], "own") == {"llama.cpp": "v0.5.0/linux-arm64-gcc"}


def test_here_own_is_the_release_alone() -> None:
    if platform_here("") != "linux-x64-gcc":
        pytest.skip("this is another platform")
    assert registry.references(["llama.cpp"], "own") == {"llama.cpp": "v0.5.0"}
