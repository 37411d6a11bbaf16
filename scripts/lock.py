"""Write locked.txt and locked-extras/EXTRA.txt: every package for all platforms, with its digests.

Needs uv. Versions are those of constraints.txt. locked.txt has what the project needs and the
extras of OURS; of each other extra its file has what that itself needs. The files name no registry.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = ("llama", "report", "fuzz", "dev")  # what `make setup` installs
UV = [
    "uv",
    "pip",
    "compile",
    "--quiet",
    "-c",
    "constraints.txt",
    "--generate-hashes",
    "--universal",
]
UV += ["--python-version", "3.11", "--no-header", "--no-annotate"]
HEAD = "# Made by `python scripts/lock.py`, for all platforms; scripts/install.py takes it alone"


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    everything = [*project["dependencies"], *(one for name in OURS for one in extras.pop(name))]
    write(ROOT / "locked.txt", everything)
    (ROOT / "locked-extras").mkdir(exist_ok=True)
    for extra, requirements in extras.items():
        write(ROOT / "locked-extras" / f"{extra}.txt", requirements)
    return 0


def write(path: Path, requirements: list[str]) -> None:
    done = subprocess.run(
        [*UV, "-"],
        cwd=ROOT,
        input="\n".join(requirements),
        encoding="utf-8",
        stdout=subprocess.PIPE,
    )
    if done.returncode:
        sys.exit(f"{path.name}: uv ended with status {done.returncode}")
    path.write_text(f"{HEAD}\n{done.stdout}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
