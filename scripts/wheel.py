"""Build the wheel into dist/, with tsampler's JavaScript in it: `python scripts/wheel.py`."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TSAMPLER = ROOT / "engines" / "tsampler"
COMPILE = f"cd {TSAMPLER.relative_to(ROOT).as_posix()} && npm ci && npx tsc"


def main() -> int:
    if missing := uncompiled(TSAMPLER):
        print(f"{missing[0]} is not compiled - {COMPILE}", file=sys.stderr)
        return 2
    shutil.rmtree(ROOT / "build", ignore_errors=True)  # else what was deleted since is in it, too
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps"]
    return subprocess.call([*command, "-w", str(ROOT / "dist"), str(ROOT)])


def uncompiled(folder: Path) -> list[str]:
    """Return the sources in TypeScript without their JavaScript, or newer than it."""
    return [
        source.name
        for source in sorted((folder / "src").glob("*/*.ts"))
        if not _younger(folder / "dist" / source.parent.name / f"{source.stem}.js", source)
    ]


def _younger(compiled: Path, source: Path) -> bool:
    return compiled.is_file() and compiled.stat().st_mtime >= source.stat().st_mtime


if __name__ == "__main__":
    sys.exit(main())
