"""Check the versions that the changelog and the pages state.

Each function returns a line for every problem. A place that no longer states its version is a
problem, too: else a rewritten page would go unchecked.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

SECTION = re.compile(r"(?m)^## \[(\d+\.\d+\.\d+)\](?: - (\d{4}-\d{2}-\d{2}))?$")
# A version of sampler-parity itself, wherever a page names one.
OURS = re.compile(r"sampler[-_]parity(?:==|-|@v?| )(\d+\.\d+\.\d+)\b")


def version_of(root: Path) -> str:
    version: str = _project(root)["version"]
    return version


def _project(root: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return project


def changelog(root: Path, tag: str) -> list[str]:
    """Return the problems of the changelog.

    With a tag, the first section must be dated and of its version, and no entry may wait.
    Without one, no section may be newer than the version of pyproject.toml.
    """
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    version = version_of(root)
    sections = SECTION.findall(text)
    if not tag:
        newer = [one for one, _ in sections if _order(one) > _order(version)]
        return [f"CHANGELOG.md: [{one}] is newer than pyproject.toml's {version}" for one in newer]
    if tag != f"v{version}":
        return [f"tag {tag}: pyproject.toml has the version {version}, whose tag is v{version}"]
    if not sections or sections[0][0] != version:
        first = f"[{sections[0][0]}]" if sections else "none"
        return [f"CHANGELOG.md: the first section must be [{version}] - DATE, it is {first}"]
    if not sections[0][1]:
        return [f"CHANGELOG.md: [{version}] has no date: ## [{version}] - YYYY-MM-DD"]
    waiting = sorted(path.name for path in (root / "changes").glob("*.*.md"))
    if waiting:
        return [f"changes/: {', '.join(waiting)} belong to [{version}]: run towncrier build"]
    return []


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def versions(root: Path) -> list[str]:
    """Check that a version in several places is the same in all."""
    version = version_of(root)
    pages = sorted((root / "docs").rglob("*.md"))
    lines = [
        f"{path.relative_to(root)}: names sampler-parity {stated}, pyproject.toml has {version}"
        for path in [root / "README.md", root / "action.yml", *pages]
        for stated in OURS.findall(path.read_text(encoding="utf-8"))
        if stated != version
    ]
    for file, pattern, wanted in _places(root, version):
        stated = re.findall(pattern, (root / file).read_text(encoding="utf-8"))
        if not stated:
            lines.append(f"{file}: nothing fits {pattern}, which is to state {wanted}")
        lines += [f"{file}: states {one}, not {wanted}" for one in stated if one != wanted]
    return lines


def _places(root: Path, version: str) -> list[tuple[str, str, str]]:
    """Return (file, pattern of the statement, true value)."""
    project = _project(root)
    pin = project["optional-dependencies"]["llama"][0].partition("==")[2]
    findings = (root / "docs" / "findings.md").read_text(encoding="utf-8")
    numbers = max(map(int, re.findall(r"(?m)^## (\d+)\.", findings)))
    chronology = (root / "reference" / "chronology.py").read_text(encoding="utf-8")
    release = re.findall(r'(?m)NEWEST = "[^"]+", "([^"]+)"', chronology)[0]
    tsampler = "engines/tsampler"
    lock = json.loads((root / tsampler / "package-lock.json").read_text(encoding="utf-8"))[
        "version"
    ]
    return [
        ("sampler_parity/__init__.py", r'(?m)^__version__ = "([^"]+)"', version),
        (f"{tsampler}/package.json", r'"version": "([^"]+)"', lock),
        ("README.md", r"Python (\d+\.\d+) or later", project["requires-python"].lstrip(">=")),
        ("README.md", r"\[finding 1 of (\d+)\]", str(numbers)),
        ("README.md", r"compiles llama\.cpp (v\S+)", release),
        ("docs/findings.md", r"measured with llama\.cpp (v\S+) \(", release),
        ("docs/findings.md", r"measured with llama\.cpp \S+ \(llama-cpp-python ([\d.]+)", pin),
        ("harness/llama_cpp/worker.py", r"\(llama-cpp-python ([\d.]+)\)", pin),
        ("locked.txt", r"(?m)^llama-cpp-python==(\S+)", pin),
    ]
