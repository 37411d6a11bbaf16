"""A toy sampler, a toy engine, and a copy of the tree to which they are added.

The folders of toy_files hold their files, each at its place in the tree; SAMPLER_ROW goes into a
list. The sampler's name begins like others, so that a selection by prefix selects it, too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TSAMPLER = "engines/tsampler"


def _files(group: str) -> dict[str, str]:
    """Return the texts of a folder of toy_files, by their places in the tree."""
    folder = Path(__file__).parent / "toy_files" / group
    paths = sorted(path for path in folder.rglob("*.*") if "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


SAMPLER = _files("sampler")
# "To show that it is right". `python -m scripts.reference` writes the page among them, but makes
# the pages of all samplers for that.
SAMPLER_SHOWN = _files("sampler_shown")
ENGINE = _files("engine")
TOYS = SAMPLER | SAMPLER_SHOWN | ENGINE

REGISTRY = "reference/registry.py"
# For each line of the registry, the new lines before it.
SAMPLER_ROW = {
    "from sampler_parity.reference.samplers.top_k": (
        "from sampler_parity.reference.samplers.top_even import TopEven\n"
    ),
    '    "softmax": Row(': (
        '    "top_even": Row(TopEven, {}, edges={}, ranges={}, kind="filter", sizes=_CANDIDATES),\n'
    ),
}


def copied(copy: Path) -> Path:
    """Copy git's files, the links of sampler_parity/ among them, and tsampler's build.

    The copies keep their times, and the code that Python and Numba compiled comes along: compiling
    it again took half of the time of these tests.
    """
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [*filter(None, listed.stdout.split("\0"))]
    for name in names:
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    for compiled in {(ROOT / name).parent / "__pycache__" for name in names}:
        if compiled.is_dir():
            shutil.copytree(compiled, copy / compiled.relative_to(ROOT))
    if (ROOT / TSAMPLER / "dist").is_dir():
        shutil.copytree(ROOT / TSAMPLER / "dist", copy / TSAMPLER / "dist")
        (copy / TSAMPLER / "node_modules").symlink_to((ROOT / TSAMPLER / "node_modules").resolve())
    return copy


def add_toys(copy: Path) -> None:
    """Add the places of both pages, and the index that is generated."""
    for path, text in TOYS.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text, encoding="utf-8")
    (copy / REGISTRY).write_text(with_row((copy / REGISTRY).read_text("utf-8")), "utf-8")
    done = python(copy, "-m", "scripts.engines_index")
    assert done.returncode == 0, done.stderr
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        subprocess.run(command, cwd=copy, check=True)


def with_row(registry: str) -> str:
    """Return the registry with the toy sampler's row and its import."""
    for before, lines in SAMPLER_ROW.items():
        assert registry.count(before) == 1, before
        registry = registry.replace(before, lines + before)
    return registry


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, with its modules."""
    alone = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    environment = {**alone, "PYTHONPATH": str(copy)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True
    )
