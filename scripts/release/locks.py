"""Every package of the lock files: pip's in locked.txt and locked-extras/, npm's of tsampler."""

import base64
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

TSAMPLER = "engines/tsampler"


@dataclass(frozen=True)
class Package:
    """needed: the part of pyproject.toml that needs it; "" if only another package does."""

    kind: str  # "pypi" or "npm"
    name: str
    version: str
    digests: tuple[str, ...]  # "sha256:HEX", of npm "sha512:HEX"
    condition: str
    locked: str
    needed: str


def packages(root: Path) -> list[Package]:
    """Return the packages of locked.txt, locked-extras/ and tsampler's package-lock.json."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    needed = {_name(one): f"extra {e}" for e, names in extras.items() for one in names}
    needed |= {_name(one): "sampler-parity" for one in project["dependencies"]}
    files = [root / "locked.txt", *sorted((root / "locked-extras").glob("*.txt"))]
    every = [one for file in files for one in _pins(file, root, needed)]
    return [*every, *_of_npm(root)]


def _pins(file: Path, root: Path, needed: dict[str, str]) -> list[Package]:
    entries = re.findall(r"(?m)^[a-zA-Z].*\n(?:[ ]+.*\n)*", file.read_text(encoding="utf-8"))
    rows = []
    for entry in entries:
        pin, _, condition = entry.split("\n", 1)[0].rstrip(" \\").partition(" ; ")
        name, _, version = pin.partition("==")
        digests = tuple(sorted(re.findall(r"--hash=(sha256:[0-9a-f]{64})\b", entry)))
        locked = file.relative_to(root).as_posix()
        rows.append(
            Package("pypi", name, version, digests, condition, locked, needed.get(name, ""))
        )
    return rows


def _of_npm(root: Path) -> list[Package]:
    locked = f"{TSAMPLER}/package-lock.json"
    listed = json.loads((root / locked).read_text(encoding="utf-8"))["packages"]
    direct = listed[""].get("devDependencies", {})
    names = {path.removeprefix("node_modules/"): row for path, row in listed.items() if path}
    return [
        Package("npm", name, row["version"], (_hex(row["integrity"]),), "", locked,
                "tsampler, to compile it" if name in direct else "")
        for name, row in names.items()
    ]  # fmt: skip


def _hex(integrity: str) -> str:
    """Convert npm's sha512-BASE64 to sha512:HEX."""
    kind, _, digest = integrity.partition("-")
    return f"{kind}:{base64.b64decode(digest).hex()}"


def _name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=~!; ]", requirement)[0]).lower()
