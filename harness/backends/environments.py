"""Separate environments for other projects' engines, `[[environment]]` of engines/NAME/engine.toml.

Each is a folder `engines/NAME-VERSION` of the user's cache, so that their packages never meet ours.

A folder is an environment once it has its record, environment.json, which is written last. The
packages of the engine's own version are pinned in `engines/NAME/locked/`, which `python
scripts/lock.py` writes.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from sampler_parity.harness.engines.engine_file import Environment, engine_file, engine_names
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import open_file, sha256_of
from sampler_parity.harness.inputs.cache_folder import user_folder
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import meant
from sampler_parity.harness.strict import Strict

_FOLDER = Path(__file__).parent
START = _FOLDER / "start.py"
_PACKAGES = _FOLDER / "packages.mjs"
_SPOT = "{environment}"  # in a command, the environment's folder


def all_environments() -> dict[str, Environment]:
    """Return the environments of all engines, by name."""
    return {row.name: row for name in engine_names() for row in engine_file(name).environment}


class Record(Strict):
    """environment.json. locked: the SHA-256 of the file that pins it, "" if none pins this version.
    packages: each as it was installed, by NAME==VERSION, with its digest."""

    name: str
    version: str
    locked: str
    packages: dict[str, str]
    seconds: float
    size: int
    added: str


def engines_folder() -> Path:
    return user_folder() / "engines"


def folder_of(name: str, version: str = "") -> Path:
    """Return the folder of an environment, present or not. version: "" for the pinned one."""
    return engines_folder() / f"{name}-{version or known(name).version}"


def known(name: str) -> Environment:
    """Return the environment of this name. Raises InputError."""
    rows = all_environments()
    if name not in rows:
        raise InputError(f"engine {name!r}", "unknown", meant(name, rows))
    return rows[name]


def record_of(folder: Path) -> Record | None:
    """Return the record of a folder; None if it is no environment. Raises InputError for a record
    that cannot be read."""
    path = folder / "environment.json"
    try:
        with open_file(path) as file:
            content = file.read(limits.MIB + 1)
        if len(content) > limits.MIB:
            raise InputError(path, "has more than 1 MiB", "remove its folder")
        return Record.model_validate_json(content)
    except FileNotFoundError:
        return None
    except (ValidationError, OSError):
        raise InputError(path, "is not a record of an environment", "remove its folder") from None


def records() -> Iterator[Record]:
    """Yield the records of all environments that can be read."""
    for path in sorted(engines_folder().glob("*/environment.json")):
        with suppress(InputError):
            if record := record_of(path.parent):
                yield record


def missing(name: str, version: str = "") -> str:
    """Return why an environment cannot be used, with the fix; "" if it can."""
    row = known(name)
    requirement = f"{name}=={version}" if version and version != row.version else name
    try:
        record = record_of(folder_of(name, version))
    except InputError as error:
        return str(error)
    if record is None:
        return f"sampler-parity engines add {requirement}"
    if row.kind == "python" and not python_of(folder_of(name, version)).exists():
        return f"the Python that it was made with is gone: sampler-parity engines add {requirement}"
    if requirement == name and record.locked != sha256_of(row.locked):
        return f"its pinned packages have changed: sampler-parity engines add {name}"
    return ""


def digest(name: str, version: str = "") -> str:
    """Return a digest of all packages of an environment. Raises InputError if it no longer
    exists."""
    record = record_of(folder_of(name, version))
    if record is None:
        raise InputError(f"engine {name}", missing(name, version))
    lines = "".join(f"{package} {sha}\n" for package, sha in sorted(record.packages.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


def command(name: str, version: str, words: Sequence[str]) -> list[str]:
    """Return the command of an adapter in an environment; Node.js is shown where the packages
    are."""
    folder = folder_of(name, version)
    program, script, *arguments = (word.replace(_SPOT, folder.as_posix()) for word in words)
    loads = ["--import", _packages_of(folder)] if program == "node" else []
    return [program, *loads, script, *arguments]


def _packages_of(folder: Path) -> str:
    return f"{_PACKAGES.as_uri()}?of={quote(folder.as_posix())}"


def worker_command(name: str, version: str, words: list[str]) -> list[str]:
    """Return the command of a worker in an environment. -I: no user packages, and no PYTHONPATH."""
    return [str(python_of(folder_of(name, version))), "-I", str(START), *words]


def packages_of(name: str, version: str = "") -> list[Path]:
    """Return the folders with the packages of an environment."""
    folder = folder_of(name, version)
    if known(name).kind == "node":
        return [folder / "node_modules"]
    return [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def inside(
    row: Environment, version: str, command: list[str], environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return a user's command and its variables for running in an environment."""
    folder = folder_of(row.name, version)
    programs = folder / "node_modules" / ".bin" if row.kind == "node" else python_of(folder).parent
    search = os.pathsep.join([str(programs), environment.get("PATH", "")])
    changed = {"PATH": search}
    if row.kind == "node":
        options = [environment.get("NODE_OPTIONS", ""), f"--import={_packages_of(folder)}"]
        changed["NODE_OPTIONS"] = " ".join(filter(None, options))
    else:
        changed["VIRTUAL_ENV"] = str(folder)
    program = shutil.which(command[0], path=search) or command[0]
    return [program, *command[1:]], environment | changed
