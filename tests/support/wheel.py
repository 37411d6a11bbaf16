"""The wheel of this checkout, and commands that run without access to the checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
OFFLINE = ["-q", "--no-deps", "--no-index"]


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of the checkout, because setuptools leaves files next to the
    sources.
    """
    source = folder / "source"
    ignored = shutil.ignore_patterns(
        ".*", "node_modules", "__pycache__", "bundles", "report", "build", "*.whl"
    )
    shutil.copytree(ROOT, source, ignore=ignored)
    build = [*PIP, "wheel", *OFFLINE, "--no-build-isolation", "-w", folder, source]
    subprocess.run([*map(str, build)], check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    return wheel


def outside(
    *command: str | Path, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder.

    Nothing of the checkout is found: not by folder, PYTHONPATH or a cache.
    """
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=ours | {"XDG_CACHE_HOME": str(folder / "cache")} | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
