"""Right engines and mistakes that another hand wrote from the documentation: `hand_written/`.

`python -m studies.hand_written right [OPTION...]`: `run parity --accept correct` on the right
engines, with these options, such as `--profile full`.
`python -m studies.hand_written names [MISTAKE...]`: the first lines that a run prints for a
mistake, at both levels, after the sentence that its author expects. A person compares them.

The Rust engine needs cargo, the torch engine `sampler-parity engines add rwkv`.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from sampler_parity.harness.backends.environments import folder_of

FOLDER = Path(__file__).resolve().parent / "hand_written"
PYTHON = f"{sys.executable} {FOLDER}/python"
RUST = FOLDER / "rust" / "target" / "release" / "lathe"
RIGHT = {
    "javascript": f"node {FOLDER}/javascript/engine.mjs",
    "rust": str(RUST),
    "numpy": f"{PYTHON}/numpy_engine.py",
    "log_domain": f"{PYTHON}/log_engine.py",
    "torch": f"{folder_of('rwkv')}/bin/python {FOLDER}/python/torch_engine.py",
}
WRONG = {"javascript": RIGHT["javascript"], "rust": RIGHT["rust"], "python": RIGHT["numpy"]}
LINES = 5


def run(bundle: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `sampler-parity run`; its progress is shown."""
    program = Path(sys.executable).with_name("sampler-parity")
    return subprocess.run(
        [str(program), "run", "-o", bundle, *arguments], stdout=subprocess.PIPE, encoding="utf-8"
    )


def right(options: list[str]) -> int:
    """Run the cases of parity; return the number of engines that fail."""
    failures = 0
    for name, command in RIGHT.items():
        with tempfile.TemporaryDirectory() as folder:
            engine = ["-b", f"{name}={command}", "--accept", "correct"]
            done = run(f"{folder}/b", "parity", *engine, *options)
        lines = [f"{name}: exit status {done.returncode}", *done.stdout.splitlines()[-8:]]
        print("\n  ".join(lines), flush=True)
        failures += done.returncode != 0
    return failures


def names(only: list[str]) -> None:
    for language, command in WRONG.items():
        rows = tomllib.loads((FOLDER / language / "mistakes.toml").read_text("utf-8"))["mistake"]
        for row in rows:
            if only and row["name"] not in only:
                continue
            for accept in ("identical", "correct"):
                print(f"\n{language} {row['name']} ({row['sampler']}), --accept {accept}")
                print(f"  expected: {row['sentence']}")
                for line in first_lines(row, command, accept):
                    print(f"  {line[:160]}", flush=True)


def first_lines(row: dict[str, str], command: str, accept: str) -> list[str]:
    mistaken = f"mine=env MISTAKE={row['name']} {command}"
    with tempfile.TemporaryDirectory() as folder:
        suite = f"parity/{row['sampler']}"
        done = run(f"{folder}/b", suite, "-b", mistaken, "--accept", accept)
    return done.stdout.splitlines()[:LINES]


def main(arguments: list[str]) -> int:
    cargo = ["cargo", "build", "--release", "--quiet"]
    subprocess.run(cargo, cwd=FOLDER / "rust", check=True, env=os.environ)
    if arguments[:1] == ["right"]:
        return right(arguments[1:])
    names(arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
