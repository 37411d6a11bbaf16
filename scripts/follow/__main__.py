"""`python -m scripts.follow [PACKAGE@VERSION]`: follow a newer release of llama.cpp.

Fetch the newest package of `sampler-parity builds newest`, or the named one. Compare its llama.h
and its samplers' sources with those of the newest modelled release. Make the edits that need no
decision in a copy of the tree, and run the quick suites there on both releases.

The folder of the output gets page.md, with what a person must decide and the places to edit;
edits.patch, sources.diff and the bundle.

Exit status: 0, also if nothing is newer; 2 the package cannot be fetched or run.
"""

import argparse
import datetime
import json
import platform
import sys
import time
from collections import Counter
from pathlib import Path

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import toml_of
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.llama_cpp.build_files import library_file
from sampler_parity.harness.llama_cpp.libllama import FUNCTIONS_FILE
from sampler_parity.harness.llama_cpp.published import offers, packages
from sampler_parity.harness.llama_cpp.recorded import Build, find
from sampler_parity.harness.llama_cpp.signatures import order
from sampler_parity.reference.chronology import SEEN
from scripts.follow import sources, trial
from scripts.follow.edits import INIT, Step, edit, exported, known_symbols
from scripts.follow.page import Found, page
from scripts.follow.sources import Changed, Sources

NODE = "node-llama-cpp"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("scripts.follow", description=__doc__)
    parser.add_argument("what", nargs="?", metavar="PACKAGE@VERSION", default="")
    parser.add_argument("-o", "--output", type=Path, default=Path("bundles/follow"))
    parser.add_argument("-j", "--jobs", type=int, default=0, help="processes; 0: one a core")
    asked = parser.parse_args(arguments)
    try:
        what = asked.what or newest()
        if not what:
            print(f"nothing is newer than {SEEN}")
            return 0
        build = builds.add(what)
        release = build.release or ""
        if order(release) <= order(SEEN):
            print(f"{what} has {release}, which is not newer than {SEEN}")
            return 0
        print(follow(build, what, asked.output.resolve() / release, asked.jobs))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def newest() -> str:
    """Return the newest package that is newer than the modelled releases, one with sources if there
    is one; "" without any. Raises InputError."""
    newer = sorted((one for one in offers() if one.newer), key=lambda one: one.package == NODE)
    return f"{newer[-1].package}@{newer[-1].version}" if newer else ""


def follow(build: Build, what: str, folder: Path, jobs: int = 0) -> Path:
    """Write the page and what belongs to it; return the page. Raises InputError."""
    began = time.monotonic()
    release, (package, _, version) = build.release or "", what.rpartition("@")
    before = max(packages(), key=order)
    earlier = find(before) or builds.add(f"{NODE}@{packages()[before]}")
    folder.mkdir(parents=True, exist_ok=True)
    old, new = texts(packages()[before], version if package == NODE else "", folder)
    moved = differing(earlier, build, trial.ROOT)
    tree = trial.copied(trial.ROOT, folder / "tree")
    step = Step(release, before, version if package == NODE else "", old, new)
    edited = edit(tree, step)
    patch = trial.patch(trial.ROOT, tree)
    (folder / "edits.patch").write_text(patch, encoding="utf-8")
    more = ["-j", str(jobs)] if jobs else []
    bundle = trial.run(tree, [earlier.name, build.name], folder / "bundle", more)
    symbols = exported(library_file(Path(build.folder)))
    known = known_symbols(trial.ROOT)
    had = exported(library_file(Path(earlier.folder)))
    minutes = (time.monotonic() - began) / 60
    found = Found(
        release=release,
        before=before,
        package=what,
        facts=[
            ("SHA-256 of the package", f"`{build.sha256}`"),
            ("sources", "in the package" if new else "none in the package"),
            ("structures with other defaults", ", ".join(one.name for one in moved) or "none"),
            ("run", f"{datetime.date.today()}, {platform.machine()}, {minutes:.1f} min"),
        ],
        edited=edited,
        cases=sum(not case.skipped(f"llama.cpp@{build.name}") for case in bundle.cases),
        causes=trial.causes(bundle, build.name, earlier.name),
        prototypes=changed_prototypes(old, new) if old and new else [],
        structures=sources.changed_fields(old, new) if old and new else moved,
        new={name: shown(new, name) for name in sorted(symbols - known)},
        gone=sorted(had & known - symbols),
        functions=sources.changed_functions(old, new) if old and new else {},
        only_before=trial.only_before(bundle, build.name, earlier.name),
        not_asked=not_asked(bundle, f"llama.cpp@{build.name}"),
    )
    written = folder / "page.md"
    written.write_text(page(found, trial.ROOT), encoding="utf-8")
    return written


def texts(before: str, version: str, folder: Path) -> tuple[Sources | None, Sources | None]:
    """Return the sources of two versions of node-llama-cpp, and write their difference; None
    without a version."""
    if not version:
        return None, None
    folders = [sources.fetched(one) for one in (before, version)]
    (folder / "sources.diff").write_text(sources.difference(*folders), encoding="utf-8")
    old, new = map(sources.read, folders)
    return old, new


def differing(earlier: Build, build: Build, tree: Path) -> list[Changed]:
    """Return the structures whose default values differ in two builds. On x86-64 alone."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    written: list[dict[str, str]] = []
    for one in (earlier, build):
        done = trial.python(tree, "scripts.follow.structures", one.folder)
        if done.returncode:
            raise InputError(one.folder, f"cannot be loaded: {done.stderr.strip()[-300:]}")
        written.append(json.loads(done.stdout))
    return differing_bytes(*written)


def differing_bytes(before: dict[str, str], now: dict[str, str]) -> list[Changed]:
    """Return the structures whose bytes differ, each with its sizes and the first byte."""
    found = []
    for name in before:
        sides = [bytes.fromhex(side[name]) for side in (before, now)]
        if sides[0] != sides[1]:
            pairs = zip(*sides, strict=False)
            first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(map(len, sides)))
            sizes = [f"{len(side)} bytes" for side in sides]
            found.append(Changed(name, sizes[0], f"{sizes[1]}, the first other one at {first}"))
    return found


def changed_prototypes(old: Sources, new: Sources) -> list[Changed]:
    """Return the initializers and the functions that the harness calls whose arguments differ."""
    called = toml_of(FUNCTIONS_FILE, FUNCTIONS_FILE.read_bytes())
    both = {*old.prototypes, *new.prototypes}
    names = sorted(name for name in both if name in called or name.startswith(INIT))
    made = sources.changed(old.prototypes, new.prototypes, names)
    return [one for one in made if one.before and (one.now or one.name in called)]


def shown(new: Sources | None, name: str) -> str:
    arguments = new.prototypes.get(name) if new else None
    return "" if arguments is None else f"({', '.join(map(str, arguments))})"


def not_asked(bundle: Bundle, backend: str) -> dict[str, int]:
    """Return how many cases were not run on a backend, by the reason."""
    results = (case.backends.get(backend) for case in bundle.cases)
    reasons = (one.detail.split(": ")[-1] for one in results if one and one.verdict == "skipped")
    return dict(Counter(reasons).most_common())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
