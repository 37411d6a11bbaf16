"""The Dockerfile, as far as it can be checked without running containers."""

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Each with its arguments, on one line."""
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [
        (name, rest) for name, _, rest in (li.partition(" ") for li in joined.split("\n") if li)
    ]


def test_every_image_has_a_version() -> None:
    images = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert len(images) == 3
    assert [image for image in images if not re.search(r":\d", image)] == []


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sources = [rest.split()[0] for name, rest in instructions() if name == "COPY"]
    ours = [source for source in sources if not source.startswith("--from")]
    assert ours == ["engines/tsampler/", "."]
    files = ["locked.txt", "pyproject.toml", "setup.py", "README.md", "LICENSE"]
    needed = [*files, "scripts", "suites"]
    assert [name for name in [*ours, *needed] if not (ROOT / name).exists()] == []
    assert not {*needed, "harness", "reference", "reports", "golden"} & {*ignored}


def test_llama_cpp_is_built_as_by_make_setup_but_for_any_processor() -> None:
    (text,) = (rest for name, rest in instructions() if name == "ENV")
    flags = shlex.split(text.removeprefix("CMAKE_ARGS="))[0].split()
    ours = runpy.run_path(str(ROOT / "scripts" / "install.py"))["BUILD"]["CMAKE_ARGS"].split()
    assert flags == ["-DGGML_NATIVE=OFF", *ours]


def test_it_does_not_run_as_root() -> None:
    names = [name for name, _ in instructions()]
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_hadolint_finds_nothing() -> None:
    beside = Path(sys.executable).with_name("hadolint")  # the extra `docker`
    program = str(beside) if beside.is_file() else shutil.which("hadolint")
    if program is None:
        pytest.skip("the extra `docker` is not installed, which has hadolint")
    done = subprocess.run([program, str(FILE)], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, "")
