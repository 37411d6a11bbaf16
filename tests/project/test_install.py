"""Exactly the locked packages are installed: every package by version and digest."""

import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.import_graph import PACKAGES
from tests.support.makefiles import MAKEFILES, ROOT

LOCKED = ROOT / "locked.txt"


def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "install.py"))


def lock() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "lock.py"))


def entries(text: str) -> dict[str, tuple[str, int]]:
    """Return the version of each package, and how many digests it has."""
    found = {}
    for entry in re.split(r"\n(?=[a-zA-Z])", text):
        match = re.match(r"([A-Za-z0-9._-]+)==(\S+)", entry)
        if match:
            name = re.sub(r"[-_.]+", "-", match[1]).lower()
            found[name] = (match[2], len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", entry)))
    return found


def test_every_locked_package_has_digests_and_one_version_in_all_files() -> None:
    assert len(entries(LOCKED.read_text())) > 60
    versions: dict[str, str] = {}
    for path in (LOCKED, *(ROOT / "locked-extras").glob("*.txt")):
        for name, (version, digests) in entries(path.read_text()).items():
            assert digests, f"{path.name}: {name}"
            assert versions.setdefault(name, version) == version, f"{path.name}: {name}"


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_package_of_an_extra_is_locked_with_digests(extra: str) -> None:
    file = LOCKED if extra in lock()["OURS"] else ROOT / "locked-extras" / f"{extra}.txt"
    locked = entries(file.read_text())
    named = {
        re.sub(r"[-_.]+", "-", re.split(r"[\[<>=~!]", one)[0]).lower() for one in EXTRAS[extra]
    }
    assert named
    assert named <= locked.keys()


def test_no_extra_is_installed_but_by_digest() -> None:
    """None of our commands does so: pip would accept any file of a version."""
    workflows = (ROOT / ".github" / "workflows").glob("*.yml")
    for path in (*MAKEFILES, ROOT / "action.yml", *workflows):
        text = path.read_text()
        for line in text.splitlines():
            assert "pip install" not in line or "--require-hashes" in line, f"{path.name}: {line}"


def test_an_extra_that_is_not_locked_is_refused() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "install.py"), "native", "nonsense"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "no extra 'nonsense' is locked, only attest, dask, docker, docs, llguidance, "
    )


def test_the_locked_packages_name_no_registry() -> None:
    for path in (LOCKED, *(ROOT / "locked-extras").glob("*.txt")):
        assert "://" not in path.read_text(), path.name


def test_each_package_of_npm_is_locked_with_its_integrity_and_no_registry() -> None:
    lock = ROOT / "engines" / "tsampler" / "package-lock.json"
    data = json.loads(lock.read_text())
    packages = {name: package for name, package in data["packages"].items() if name}
    assert {f"node_modules/{name}" for name in data["packages"][""]["devDependencies"]} <= {
        *packages
    }
    for name, package in packages.items():
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", package.get("integrity", "")), name
        assert "resolved" not in package, name
    assert "://" not in lock.read_text()
    assert "npm ci" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize(
    ("backends", "compiled"),
    [
        ("", True),
        ("llama.cpp", True),
        ("mine=node my-adapter.js", False),
        ("mine=node my-adapter.js\nreference\n", False),
        ("mine=node my-adapter.js\nllama.cpp", True),
        ("old=llama.cpp@b4753", True),
        ("mlx_lm", True),
        ("fork=llama.cpp@/home/me/build", False),
        ("reference@b4753", False),
    ],
)
def test_llama_cpp_is_compiled_only_for_backends_that_need_it(
    backends: str,
    compiled: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main = script()["main"]
    done: list[str] = []

    def step(name: str, _: object) -> int:
        done.append(name)
        return 0

    for name in ("compile_llama", "install_others", "use_prebuilt"):
        monkeypatch.setitem(main.__globals__, name, partial(step, name))
    monkeypatch.setattr(sys, "argv", ["install.py", "--for", backends])
    assert main() == 0
    assert "install_others" in done
    assert ("compile_llama" in done) == compiled
    assert ("is not compiled" in capsys.readouterr().out) == (not compiled)


def wheel(folder: Path) -> Path:
    path = folder / "tiny-1.0-py3-none-any.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as members:
        members.writestr("tiny.py", "")
        members.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        tag = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        members.writestr(f"{info}/WHEEL", tag)
        members.writestr(f"{info}/RECORD", "")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("tampered", [False, True])
def test_a_package_that_is_not_what_was_locked_is_refused(tmp_path: Path, tampered: bool) -> None:
    pytest.importorskip("pip")
    digest = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    if tampered:
        with zipfile.ZipFile(wheel(tmp_path), "a") as members:
            members.writestr("evil.py", "")
    locked = tmp_path / "locked.txt"
    locked.write_text(f"tiny==1.0 \\\n    --hash=sha256:{digest}\n")
    done = subprocess.run(
        [*script()["install"](locked), "--dry-run", "--no-deps"],
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode != 0) == tampered, done.stderr
    assert ("DO NOT MATCH THE HASHES" in done.stderr) == tampered


def test_what_is_installed_has_its_byte_code_also_where_python_writes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    write_byte_code = script()["write_byte_code"]
    monkeypatch.setitem(write_byte_code.__globals__, "ROOT", tmp_path)
    for name in PACKAGES:
        (tmp_path / name / "room").mkdir(parents=True)
        (tmp_path / name / "room" / "file.py").write_text("")
    assert write_byte_code() == 0
    assert len(list(tmp_path.glob("*/room/__pycache__/file.*.pyc"))) == len(PACKAGES)
