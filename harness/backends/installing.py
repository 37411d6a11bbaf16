"""Install environments of engines in the cache folder, and remove them.

One process at a time does so: the others wait for its lock. A folder that was cut short has no
record, and is made again.
"""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.environments import Record, folder_of
from sampler_parity.harness.bundle.lock import waiting_for
from sampler_parity.harness.engines.engine_file import Environment
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.processes import groups

_LONGEST_S = 3600.0
_TORCH = re.compile(r"(?m)^(torch==[0-9.]+) \\\n(?: +--hash=.*\n?)+")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+!_-]*")
# Nothing is compiled, and pip reports the files that it took.
_PIP = ["--disable-pip-version-check", "install", "--quiet", "--only-binary", ":all:", "--report"]
Say = Callable[[str], object]


def parsed(what: str) -> tuple[Environment, str]:
    """Parse NAME or NAME==VERSION. Raises InputError."""
    name, _, version = what.partition("==")
    row = environments.known(name)
    if what != name and not _VERSION.fullmatch(version):
        raise InputError(what, "invalid version", f"write one as {name}=={row.version}")
    return row, version or row.version


def add(what: str, say: Say = lambda _line: None) -> tuple[Record, bool]:
    """Return the record of an environment, and whether it was made now. Raises InputError."""
    row, version = parsed(what)
    folder = folder_of(row.name, version)
    if not environments.missing(row.name, version):
        return _recorded(folder), False
    with _alone(folder):
        if not environments.missing(row.name, version):  # another process made it meanwhile
            return _recorded(folder), False
        say(f"installing {row.name} {version}")
        shutil.rmtree(folder, ignore_errors=True)
        begun = time.monotonic()
        try:
            record = _made(row, version, folder, begun)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return record, True


def remove(what: str) -> list[Path]:
    """Remove every version of NAME, or one version; return the folders. Raises InputError if there
    is none."""
    row, version = parsed(what)
    pattern = f"{row.name}-{version}" if "==" in what else f"{row.name}-[0-9]*"
    folders = [path for path in environments.engines_folder().glob(pattern) if path.is_dir()]
    if not folders:
        raise InputError(what, "is not installed", "see `sampler-parity engines list`")
    for folder in folders:
        with _alone(folder):
            if folder.is_symlink():  # what it leads to may be somebody's
                folder.unlink()
                continue
            (folder / "environment.json").unlink(missing_ok=True)  # first: cut short, it is none
            shutil.rmtree(folder)
    return folders


def _recorded(folder: Path) -> Record:
    record = environments.record_of(folder)
    assert record is not None
    return record


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with waiting_for(folder.parent / f".{folder.name}.lock"):
        yield


def _made(row: Environment, version: str, folder: Path, begun: float) -> Record:
    folder.mkdir()
    packages = (_python if row.kind == "python" else _node)(row, version, folder)
    pinned = version == row.version
    record = Record(
        name=row.name,
        version=version,
        locked=sha256_of(row.locked) if pinned else "",
        packages=packages,
        seconds=round(time.monotonic() - begun, 1),
        size=sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()),
        added=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    part = folder / "environment.part"
    part.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    part.replace(folder / "environment.json")
    return record


def _python(row: Environment, version: str, folder: Path) -> dict[str, str]:
    _run([sys.executable, "-m", "venv", str(folder)], folder, "venv")
    packages: dict[str, str] = {}
    pip = [str(environments.python_of(folder)), "-m", "pip", *_PIP]
    if version == row.version and (pins := _without_gpu(row)):
        (folder / "without-gpu.txt").write_text(pins, encoding="utf-8")
        report = folder / "pip-without-gpu.json"
        with suppress(InputError):  # this pip finds none: it takes the release itself, below
            chosen = ["--no-deps", "--require-hashes", "-r", "without-gpu.txt"]
            _run([*pip, str(report), *chosen], folder, "pip")
            packages |= _reported(json.loads(report.read_text(encoding="utf-8")))
    for number, arguments in enumerate(_pip(row, version)):
        report = folder / f"pip-{number}.json"
        _run([*pip, str(report), *arguments], folder, "pip")
        packages |= _reported(json.loads(report.read_text(encoding="utf-8")))
    return packages


def _without_gpu(row: Environment) -> str:
    """Return the pin of torch's build without a GPU, "" if none is pinned. Without it pip takes the
    other build: among files with the same pin it prefers the one whose page names the digest."""
    pinned = _TORCH.search(row.locked.read_text(encoding="utf-8"))
    return pinned[0].replace(pinned[1], f"{pinned[1]}+cpu", 1) if pinned else ""


def _pip(row: Environment, version: str) -> list[list[str]]:
    """Return the arguments of each call of pip."""
    if version == row.version:
        return [["--no-deps", "--require-hashes", "-r", str(row.locked)]]
    if row.whole:
        return [["numpy", "pydantic", *_other(row, version)]]
    return [["numpy", "pydantic"], ["--no-deps", *_other(row, version)]]


def _reported(report: Any) -> dict[str, str]:
    return {
        f"{package['metadata']['name']}=={package['metadata']['version']}": "sha256:"
        + package["download_info"]["archive_info"]["hashes"]["sha256"]
        for package in report["install"]
    }


def _node(row: Environment, version: str, folder: Path) -> dict[str, str]:
    npm = shutil.which("npm")
    if npm is None:
        raise InputError("npm", "is not installed", "install Node.js")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(row.locked.parent / name, folder)
    if version == row.version:
        _run([npm, "ci", "--ignore-scripts", "--omit=dev", *_optional(row)], folder, "npm")
    else:
        (folder / "package-lock.json").unlink()
        arguments = ["install", "--ignore-scripts", "--save-exact", *_other(row, version)]
        _run([npm, *arguments, *_optional(row)], folder, "npm")
    locked = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {
        f"{path.rpartition('node_modules/')[2]}=={package['version']}": package.get("integrity", "")
        for path, package in locked.items()
        if path and (folder / path).is_dir()
    }


def _optional(row: Environment) -> list[str]:
    return [] if row.whole else ["--omit=optional"]


def _other(row: Environment, version: str) -> list[str]:
    """Return the packages of another version of the engine, for pip or npm."""
    sign = "==" if row.kind == "python" else "@"
    package = row.needs[0].rpartition(sign)[0]
    return [f"{package}{sign}{version}", *row.needs[1:]]


def _run(command: list[str], folder: Path, what: str) -> None:
    """Run a command; if we are killed, it ends too. Raises InputError with the last line that names
    a reason."""
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    try:
        run = groups.start(
            command, dict(os.environ), cwd=folder, stdin=none, stdout=none, stderr=pipe
        )
    except OSError as error:
        raise InputError(folder.name, f"{what} cannot be started: {error.strerror}") from None
    try:
        assert isinstance(run.process, subprocess.Popen)
        _, errors = run.process.communicate(timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        raise InputError(folder.name, f"{what} took more than an hour") from None
    finally:
        run.end()
    if status := run.process.returncode:
        reason = _reason(what, errors.decode(errors="replace"), status)
        raise InputError(folder.name, f"{what} cannot install it: {reason}")


def _reason(what: str, errors: str, status: int) -> str:
    """Return the reason of a failure. npm prints it first; pip last, except for requirements that
    contradict each other."""
    begins = re.compile(r"ERROR: |npm (ERR!|error) ")
    lines = errors.strip().splitlines() or [f"exit status {status}"]
    reasons = [line for line in lines if begins.match(line)] or lines
    last = what != "npm" and "ResolutionImpossible" not in reasons[-1]
    return begins.sub("", reasons[-1] if last else reasons[0])
