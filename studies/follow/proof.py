"""`python -m studies.follow.proof OUTPUT`: forget releases in a copy, and follow them again.

One release after the other: a copy of the tree forgets it and all newer ones, and `studies.follow`
runs in the copy. A table states what the page named, and the files in which the edits differ from
what is known of the release. With XDG_CACHE_HOME the builds are not registered among the user's.
"""

import inspect
import re
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sampler_parity.harness.llama_cpp.published import packages
from sampler_parity.harness.llama_cpp.signatures import order
from sampler_parity.reference.chronology import BUILDS
from sampler_parity.reference.releases import _OLDER, CHANGES
from studies.follow import trial
from studies.follow.edits import CHRONOLOGY, PACKAGES, SIGNATURES, layout_rows, replaced

# Newest modelled release of the copy -> the package that is followed. b10361 is the last release
# that changed a meaning or a signature; the three after it are the last that are modelled.
FOLLOWED = {
    "b10068": "node-llama-cpp@3.20.0",
    "b10361": "node-llama-cpp@3.21.1",
    "v0.4.0": "node-llama-cpp@3.22.1",
    "v0.5.0": "xllamacpp@2026.10.11549",
}
_NO_VERSION = ("v0.0.0", 0)  # order() needs one
Row = dict[str, Any]


def forget(tree: Path, newest: str) -> None:
    """Remove from a copied tree what is known of the releases after `newest`."""
    _forget_meanings(tree, newest)
    _forget_signatures(tree / SIGNATURES, newest)
    after = [release for release in packages() if order(release) > order(newest)]
    _edit(tree / PACKAGES, *((rf'^"{release}" = .*\n', "") for release in after))
    known = {version: n for version, n in BUILDS.items() if n <= order(newest)[0]}
    _edit(
        tree / CHRONOLOGY,
        (r"^OLDEST, NEWEST = .*$", f'OLDEST, NEWEST = "b3889", "{newest}"'),
        (r'^SEEN = ".*?"', f'SEEN = "{newest}"'),
        (r"^BUILDS = .*$", f"BUILDS = {known or dict([_NO_VERSION])}"),
    )
    # no layout of a context is left that is known to be the copy's newest
    parameters = r"^(CONTEXT_PARAMS: .*?) = \{.*\}$"
    _edit(tree / "harness/llama_cpp/libllama.py", (parameters, r"\1 = {}"))


def _forget_meanings(tree: Path, newest: str) -> None:
    """Make the meanings of `newest` those that the samplers have."""
    unknown = [change for change in CHANGES if order(change.first_new) > order(newest)]
    blocks = ((rf"^\[{change.name}\]\n(?:[^\n]+\n)+\n?", "") for change in unknown)
    _edit(tree / "reference/changes.toml", *blocks)
    lines = ["import dataclasses", "import importlib", ""]
    for sampler, older in _OLDER.items():
        names = sorted(change.name for change in unknown if sampler in change.samplers)
        if names:
            # in the sampler's module, whose text the planted faults change
            module = f"reference/samplers/{sampler}.py"
            with (tree / module).open("a", encoding="utf-8") as file:
                file.write(_as_function(older, names))
            of = f"importlib.import_module('sampler_parity.reference.samplers.{sampler}').before"
            lines.append(f"ROWS[{sampler!r}] = dataclasses.replace(ROWS[{sampler!r}], make={of})")
    _edit(tree / "reference/registry.py", (r"^_TRIE = ", "\n".join([*lines, "", "_TRIE = "])))


def _as_function(older: Any, names: Sequence[str]) -> str:
    """Return the text of a function that makes an older sampler with the old meanings of names."""
    _, *parameters = inspect.signature(older).parameters.values()
    given = [
        one.name + ("" if one.default is one.empty else f"={one.default!r}") for one in parameters
    ]
    called = ", ".join(f"{one.name}={one.name}" for one in parameters)
    return (
        f"\n\ndef before({', '.join(given)}):\n"
        f"    from {older.__module__} import {older.__name__}\n\n"
        f"    return {older.__name__}(frozenset({list(names)}), {called})\n"
    )


def _forget_signatures(path: Path, newest: str) -> None:
    text = path.read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    for name, rows in tables["samplers"].items():
        if (left := _until(rows, newest)) != rows:
            text = replaced(text, name, left)
    text = layout_rows(text, _until(tables["model_layout"], newest))
    path.write_text(text, encoding="utf-8")


def _until(rows: Sequence[Row], newest: str) -> list[Row]:
    """Return the rows that begin by a release; one that goes on after it has no end."""
    begun = [row for row in rows if order(row.get("since", "b3889")) <= order(newest)]
    return [
        {k: v for k, v in row.items() if k != "until" or order(v) < order(newest)} for row in begun
    ]


def _edit(path: Path, *edits: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for pattern, put in edits:
        text, n = re.subn(pattern, put.replace("\\1", r"\g<1>"), text, flags=re.MULTILINE)
        if n != 1:
            raise ValueError(f"{path}: {pattern} fits {n} places")
    path.write_text(text, encoding="utf-8")


def rows(output: Path, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Follow each release; yield what came of it."""
    for newest in names:
        tree = trial.copied(trial.ROOT, output / newest)
        forget(tree, newest)
        began = time.monotonic()
        done = trial.python(tree, "studies.follow", FOLLOWED[newest], "-o", str(output / "pages"))
        seconds = time.monotonic() - began
        page = Path(done.stdout.strip() or ".")
        if done.returncode or not page.is_file():
            yield newest, FOLLOWED[newest], f"FAILED {done.stderr.strip()[-400:]}"
            continue
        text = page.read_text(encoding="utf-8")
        counts = (
            f"{re.sub('^### ', '', one)}" for one in re.findall("^### .*", text, re.MULTILINE)
        )
        decisions = re.search(r"(\d+) points", text)
        known = trial.copied(trial.ROOT, output / f"{newest}-known")
        forget(known, page.parent.name)
        made = page.parent / "tree" / "sampler_parity"
        left = trial.patch(made, known)
        (page.parent / "left.diff").write_text(left, encoding="utf-8")
        files = sorted({*re.findall(r"^\+\+\+ b/(\S+)", left, re.MULTILINE)})
        differing = [name for name in files if _data(made / name) != _data(known / name)]
        yield (
            page.parent.name,
            FOLLOWED[newest],
            f"{seconds:.0f} s",
            decisions[1] if decisions else "-",
            "; ".join(counts) or "none",
            ", ".join(differing) or "none",
        )


def _data(path: Path) -> object:
    """Return the text of a file, or the tables of a TOML file."""
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else text


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    output, names = Path(arguments[0]).resolve(), arguments[1:] or [*FOLLOWED]
    print("| release | package | time | decisions | causes | edits that differ from the known |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows(output, names):
        print(f"| {' | '.join(row)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
