"""llama.cpp's sources in the cache, where several processes fetch them at once."""

import io
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import sources

SAMPLER = "llama_cpp_python-0.3.36/vendor/llama.cpp/src/llama-sampler.cpp"


def archive_in(folder: Path) -> Path:
    """Write a source distribution with one file."""
    path = folder / "sources.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo(SAMPLER)
        member.size = 5
        tar.addfile(member, io.BytesIO(b"// hi"))
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sources, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_two_processes_that_unpack_at_once_both_get_the_sources(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Barrier(2)

    def fetch(_: str, folder: Path) -> Path:
        both.wait()
        return archive_in(folder)

    monkeypatch.setattr(sources, "_fetch", fetch)
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(sources.sources) for _ in range(2)]
    for one in done:
        assert (one.result() / sources.SAMPLER).read_text() == "// hi"
    assert [path.name for path in (cache / "native").iterdir()] == ["llama_cpp_python-0.3.36"]


def test_sources_that_cannot_be_put_into_the_cache_are_an_error(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_fetch", lambda _, folder: archive_in(folder))
    (cache / "native").mkdir()
    (cache / "native" / "llama_cpp_python-0.3.36").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        sources.sources()
