"""Write locked.txt and locked-extras/EXTRA.txt: every package for all platforms, with its digests.
With names of engines, `python scripts/lock.py vllm`, the packages of their environments instead:
engines/NAME/locked/, from the `[[environment]]` rows of engines/NAME/engine.toml.

Needs uv, and npm for engines on Node.js. A locked version stays while it meets the requirements of
pyproject.toml. Options go to uv: `--upgrade` updates every package, `--upgrade-package=NAME` one.
Engines always get the newest versions that their rows allow.

locked.txt has the project's needs and the extras of OURS; each other extra has a file with its own
needs. A package has one version in all these files. The files name no registry.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = ("llama", "report", "fuzz", "dev")  # what `make setup` installs
UV = [
    "uv",
    "pip",
    "compile",
    "--quiet",
    "--generate-hashes",
    "--universal",
]
UV += ["--python-version", "3.11", "--no-header", "--no-annotate"]
ENGINE_HEAD = (
    "# Made by `python scripts/lock.py NAME`, for all platforms; `engines add NAME` takes it"
)
HEAD = "# Made by `python scripts/lock.py`, for all platforms; scripts/install.py takes it alone"


# The builds without a GPU of a release that is also published elsewhere, by version (VERSION+cpu),
# for the Python versions and platforms that were measured. pip takes the file that it finds.
ALSO = {
    "torch==2.13.0": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"],
}
FOR_WORKERS = ["numpy", "pydantic"]  # a worker needs them next to the engine


def main() -> int:
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    if names:
        return lock_engines(names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    everything = [*project["dependencies"], *(one for name in OURS for one in extras.pop(name))]
    needs = {ROOT / "locked.txt": everything}
    needs |= {ROOT / "locked-extras" / f"{extra}.txt": extras[extra] for extra in extras}
    for number, (path, requirements) in enumerate(needs.items()):
        before = [word for done in [*needs][:number] for word in ("-c", str(done))]
        compiled(path.name, requirements, *before, *options, "-o", str(path))
        path.write_text(f"{HEAD}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    return 0


def lock_engines(names: list[str]) -> int:
    sys.path.insert(0, str(ROOT))
    from sampler_parity.harness.backends.environments import known

    for row in map(known, names):
        row.locked.parent.mkdir(parents=True, exist_ok=True)
        if row.kind == "node":
            packages = dict(need.rsplit("@", 1) for need in row.needs)
            lock_node(row.locked.parent, packages, row.whole)
        else:
            text = engine(row.name, row.needs, row.whole, row.without)
            row.locked.write_text(f"{ENGINE_HEAD}\n{text}")
    return 0


def engine(name: str, needs: tuple[str, ...], whole: bool, without: tuple[str, ...] = ()) -> str:
    """Return the locked packages of an environment for Python.

    whole: with the needs of the needs themselves, except `without`.
    """
    if whole and not without:
        return also("".join(entries(compiled(name, [*needs, *FOR_WORKERS])).values()))
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as pins:
        never = [f"{package} ; python_version < '3'" for package in without]
        pins.write("\n".join(never if whole else needs))
        pins.flush()
        asked = [*needs, *FOR_WORKERS] if whole else FOR_WORKERS
        others = entries(compiled(name, asked, "--override" if whole else "-c", pins.name))
    alone = entries(compiled(name, list(needs), "--no-deps"))
    return also("".join(entry for _, entry in sorted((others | alone).items())))


def also(text: str) -> str:
    """Add the digests of builds that are published elsewhere, behind those of their release."""
    for pin, digests in ALSO.items():
        more = "".join(f"    --hash=sha256:{digest} \\\\\n" for digest in digests)
        text = re.sub(rf"(?m)^({re.escape(pin)}(?: ;.*)? \\\n)", rf"\g<1>{more}", text)
    return text


def lock_node(folder: Path, packages: dict[str, str], whole: bool = True) -> None:
    """Write package.json and package-lock.json. whole: with the optional packages."""
    about = {"name": f"sampler-parity-{folder.name}", "private": True, "dependencies": packages}
    (folder / "package.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    locked = folder / "package-lock.json"
    locked.unlink(missing_ok=True)
    command = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--silent"]
    if code := subprocess.call(command, cwd=folder):
        sys.exit(f"{folder.name}: npm ended with status {code}")
    tree = json.loads(locked.read_text(encoding="utf-8"))
    if not whole:
        left_out = [at for at, of in tree["packages"].items() if of.get("optional")]
        tree["packages"] = {at: of for at, of in tree["packages"].items() if at not in left_out}
    for package in tree["packages"].values():
        package.pop("resolved", None)
        if not whole:
            package.pop("optionalDependencies", None)
    locked.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")


def entries(text: str) -> dict[str, str]:
    """Return the lines of each pin, by its name and its condition."""
    pins = re.findall(r"(?m)^\S.*\n(?:[ ]+.*\n)*", text)
    return {re.sub(r"==[^ ]+| \\\n(.|\n)*", "", pin): pin for pin in pins}


def compiled(name: str, requirements: list[str], *options: str) -> str:
    """Return every package with its digests.

    With `-o FILE` uv writes it to the file, too, and prefers the versions that the file has.
    """
    done = subprocess.run(
        [*UV, *options, "-"],
        cwd=ROOT,
        input="\n".join(requirements),
        encoding="utf-8",
        stdout=subprocess.PIPE,
    )
    if done.returncode:
        sys.exit(f"{name}: uv ended with status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
