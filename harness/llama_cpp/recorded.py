"""The record of a registered build, `build.json`, and whether its libraries are still those."""

import datetime
import json
import os
import re
import shutil
from pathlib import Path

from pydantic import ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache_folder import user_folder
from sampler_parity.harness.llama_cpp.build_files import (
    check,
    digests,
    digests_of_all,
    library_file,
)
from sampler_parity.harness.llama_cpp.signatures import order
from sampler_parity.harness.strict import Strict

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")


class Build(Strict):
    """build.json. sha256: of the package as it was fetched, or of the libllama of a folder.
    libraries: the SHA-256 of each by its name; empty in records of older versions.

    For another platform (harness/llama_cpp/platforms): its name; program: the file of its folder
    that answers; runner: what runs that, "" for nothing; recipe: the one that made it.
    """

    name: str
    folder: str
    release: str | None
    package: str | None = None
    sha256: str
    added: str
    libraries: dict[str, str] = {}
    platform: str = ""
    program: str = ""
    runner: str = ""
    recipe: str = ""

    def expected(self) -> dict[str, str]:
        """Return the recorded digests by file name."""
        if self.libraries or self.package:
            return self.libraries
        return {library_file(Path(self.folder)).name: self.sha256}  # an older version's record

    def again(self) -> str:
        """Return the command that adds the build again."""
        if self.recipe:
            return f"`sampler-parity builds make {self.recipe}`"
        if self.package:
            return f"`sampler-parity builds add {self.package}`"
        release = f" --release {self.release}" if self.release else ""
        return f"`sampler-parity builds add {self.name}={self.folder}{release}`"


def builds_folder() -> Path:
    return user_folder() / "builds"


def find(name: str) -> Build | None:
    """Return a registered build, or None. Raises InputError if its record cannot be read."""
    path = builds_folder() / name / "build.json"
    if not NAME.fullmatch(name) or not os.path.isfile(path):
        return None
    try:
        return Build.model_validate_json(path.read_text())
    except (ValidationError, OSError, UnicodeDecodeError):
        raise InputError(path, "is not a valid record of a build", "add the build again") from None


def unchanged(name: str) -> dict[str, str]:
    """Return the digests of a registered build's libraries. Raises InputError with the first file
    that differs from the record. A record of an older version has fewer digests."""
    build = find(name)
    if build is None:
        raise InputError(f"llama.cpp@{name}", "is no longer registered", "add it with `builds add`")
    folder, expected = Path(build.folder), build.expected()
    present = digests_of_all(folder) if build.program else digests(folder)
    names = present.keys() | expected.keys() if build.libraries else expected.keys()
    for file in sorted(names):
        if present.get(file) != expected.get(file):
            how = "is gone" if file not in present else "is new" if file not in expected else ""
            problem = f"{how or 'has changed'} since `builds add` recorded the build {name}"
            raise InputError(folder / file, problem, f"if that was you, {build.again()}")
    return present


def register(build: Build, files: Path) -> None:
    """Put the files and build.json in place of what was there under this name: all or nothing. If
    this process is killed, the next one for this name completes or takes back what it began."""
    target = builds_folder() / build.name
    work = target.parent / f".{build.name}"
    new, old = work / "new", work / "old"
    target.parent.mkdir(parents=True, exist_ok=True)
    from sampler_parity.harness.bundle.lock import waiting_for  # a worker registers nothing

    with waiting_for(target.parent / f".{build.name}.lock"):
        _take_back(work, target)
        try:
            shutil.copytree(files, new)
            (new / "build.json").write_text(build.model_dump_json(indent=2) + "\n")
            if target.exists():
                target.rename(old)
            new.rename(target)
        finally:
            _take_back(work, target)


def _take_back(work: Path, target: Path) -> None:
    """Put back the build that stood there, if none stands there, and delete the rest."""
    if not target.exists() and (work / "old").exists():
        (work / "old").rename(target)
    shutil.rmtree(work, ignore_errors=True)


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def release_of(folder: Path) -> str | None:
    """Return the release by the build's metadata, or by its library's name; None if neither has
    it."""
    metadata = folder / "_nlcBuildMetadata.json"
    if metadata.is_file():
        try:
            release = json.loads(metadata.read_text())["buildOptions"]["llamaCpp"]["release"]
            order(release)
        except (OSError, ValueError, KeyError, TypeError, InputError):
            raise InputError(metadata, "names no release of llama.cpp") from None
        return str(release)
    name = library_file(folder).name
    match = re.fullmatch(r"(?:lib)?llama(?:\.[a-z]+)?\.(b\d+|v\d+\.\d+\.\d+)\.\w+", name)
    return match[1] if match else None


def resolve(name: str) -> tuple[Path, str | None]:
    """Return folder and release of a registered build or of a folder. Raises InputError if
    unusable."""
    build = find(name)
    folder = Path(build.folder) if build else Path(name)
    if build is None and not os.path.isdir(folder):  # of a name of any length
        raise InputError(
            f"llama.cpp@{name}",
            f"{name} is neither a registered build nor a folder",
            "see `sampler-parity builds list`, or `builds add` it",
        )
    check(folder)
    return folder, build.release if build else release_of(folder)
