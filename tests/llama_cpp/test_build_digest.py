"""harness/llama_cpp/build_files.py: a build identifies its libraries to the byte."""

from pathlib import Path

import pytest

from sampler_parity.harness.llama_cpp.build_files import compiler_of, digest_of, digests

# The names that they have here: of Linux.
LIBRARIES = ("libllama.so", "libggml-base.so", "libggml.so", "libggml-cpu.so.0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    for name in LIBRARIES:
        (tmp_path / name).write_bytes(name.encode())
    return tmp_path


@pytest.mark.parametrize("name", LIBRARIES)
def test_one_other_byte_of_a_library_is_another_digest(folder: Path, name: str) -> None:
    before = digest_of(digests(folder))
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + b"?")
    assert digest_of(digests(folder)) != before
    (folder / name).write_bytes(content)
    assert digest_of(digests(folder)) == before


def test_one_library_under_the_name_of_another_is_another_digest(folder: Path) -> None:
    before = digest_of(digests(folder))
    (folder / "libggml.so").rename(folder / "libggml-cpu.so")
    assert digest_of(digests(folder)) != before


@pytest.mark.parametrize(
    ("content", "compiler"),
    [
        (b"\0GCC: (Debian 12.2.0-14) 12.2.0\0", "GCC: (Debian 12.2.0-14) 12.2.0"),
        (b"\0Apple clang version 15.0.0\0", "Apple clang version 15.0.0"),
        (b"clang version 18.1.3\0GCC: (Ubuntu) 13.2\0", "clang version 18.1.3"),
        (b"GCC: (Ubuntu) 13.2\0clang version 18.1.3\0", "GCC: (Ubuntu) 13.2"),
        (b"GCC: without a number\0", ""),
    ],
    ids=["gcc", "apple", "clang-first", "gcc-first", "none"],
)
def test_a_build_names_the_compiler_that_its_library_names_first(
    content: bytes, compiler: str, tmp_path: Path
) -> None:
    library = tmp_path / "libllama.so"
    library.write_bytes(b"\x7fELF" + content)
    assert compiler_of(library) == compiler
