"""`make release-check [TAG=v1.2.3] [SIGNED=1]`: everything that a release takes, into dist/.

Builds wheel and source archive twice and compares their bytes, checks their metadata, writes the
bill of materials and SHA256SUMS, and compares changelog and pages with the version. With TAG the
changelog must have its section and the checkout must be what was committed; with SIGNED the
signature must be there. Exit status 1 with a line for each problem.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from scripts.release.archives import built, differences
from scripts.release.materials import bill, malformed, unlocked
from scripts.release.parts import unnamed
from scripts.release.signatures import SUMS, signatures, sums
from scripts.release.stated import changelog, version_of, versions
from scripts.wheel import COMPILE, uncompiled

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release-check")
    parser.add_argument("--tag", default="")
    parser.add_argument("--signed", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    if missing := uncompiled(ROOT / "engines" / "tsampler"):
        print(f"{missing[0]} is not compiled - {COMPILE}", file=sys.stderr)
        return 2
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))
    problems = [*changelog(ROOT, asked.tag), *versions(ROOT)]
    if asked.tag and _git("status", "--porcelain"):
        problems.append("git: the checkout has what is not committed")
    with tempfile.TemporaryDirectory() as folder:
        first = built(ROOT, Path(folder, "first"), epoch, "from the archive")
        second = built(ROOT, Path(folder, "second"), epoch, "apart")
        problems += differences(first, second) + metadata(first)
        problems += gathered(first, asked.out, epoch)
    problems += signatures(asked.out, asked.signed)
    for problem in problems:
        print(f"FAILED {problem}")
    for path in sorted(asked.out.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path}")
    print(f"release-check: {len(problems)} problems" if problems else "release-check: pass")
    return 1 if problems else 0


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout.strip()


def metadata(archives: Path) -> list[str]:
    """Return the messages of twine, warnings included."""
    command = [sys.executable, "-m", "twine", "check", "--strict"]
    done = subprocess.run([*command, *map(str, sorted(archives.iterdir()))],
                          capture_output=True, encoding="utf-8")  # fmt: skip
    return [f"metadata: {' '.join((done.stdout + done.stderr).split())}"] if done.returncode else []


def gathered(archives: Path, out: Path, epoch: int) -> list[str]:
    """Put the archives, the bill and the sums into a folder that keeps its signatures alone."""
    out.mkdir(parents=True, exist_ok=True)
    for path in out.iterdir():
        if path.is_file() and not path.name.startswith(SUMS):  # dist/vectors is of `make vectors`
            path.unlink()
    for path in archives.iterdir():
        shutil.copy(path, out)
    (wheel,) = out.glob("*.whl")
    members = members_of(wheel)
    text = bill(ROOT, wheel, epoch, members)
    (out / f"sampler_parity-{version_of(ROOT)}.cdx.json").write_text(text, encoding="utf-8")
    (out / SUMS).write_text(sums(out), encoding="utf-8")
    return unnamed(members) + malformed(text) + unlocked(json.loads(text), ROOT)


def members_of(wheel: Path) -> dict[str, bytes]:
    """Return the files of the package, by their path in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("sampler_parity/")]
        return {name.removeprefix("sampler_parity/"): archive.read(name) for name in names}


if __name__ == "__main__":
    sys.exit(main())
