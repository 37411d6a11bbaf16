"""Print the slow targets of make that a change needs: `make affected [BASE=REV] [RUN=1]`.

scripts/affected.toml maps paths to targets. A path counts if it differs from the base commit,
committed or not, or if git does not know it yet. A target whose recipe differs counts, too. Exit
status: 0; 1 a target that was run failed; 2 the base commit or an included makefile is missing.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.size import ROOT, RevisionError, base_of, git

OWN = "own"  # `engines own`: of the folder in engines/, or those that run this file of suites/
OUTER = {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "BASE", "RUN"}  # of `make affected`
Table = dict[str, Any]


@dataclass
class Need:
    """paths: those that ask for the target. engines: for these names alone."""

    paths: list[str] = field(default_factory=list)
    engines: set[str] | None = field(default_factory=set)


def main(root: Path, arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Slow targets of make that a change needs.")
    parser.add_argument("--base", metavar="REV", help="default: where this branch left main")
    parser.add_argument("--run", action="store_true", help="run them, cheapest first")
    asked = parser.parse_args(arguments)
    table = tomllib.loads((root / "scripts/affected.toml").read_text(encoding="utf-8"))
    try:
        base = asked.base or base_of(root)
        paths = changed(root, base)
        needs = needed(table, root, [*paths, *recipes_changed(root, base)])
    except (RevisionError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    if not needs:
        print(f"No slow target covers the {len(paths)} paths that differ from {base}.")
    rows = sorted((minutes(table, name, need), name) for name, need in needs.items())
    for expected, name in rows:
        first, *others = needs[name].paths
        about = f"{'~' if name in table['estimated'] else ''}{expected:g} min"
        more = f" and {len(others)} more" if others else ""
        print(f"{shown(command(name, needs[name])):<24} {about:>8}  {first}{more}")
    if rows:
        print(f"{sum(row[0] for row in rows):g} minutes on two cores; ~ is an estimate.")
    return run(root, [command(name, needs[name]) for _, name in rows]) if asked.run else 0


def changed(root: Path, base: str) -> list[str]:
    """Return the paths that differ from a commit, and untracked ones. Raises RevisionError."""
    if git(root, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}") is None:
        raise RevisionError(f"git has no commit {base!r}: fetch it, or name another BASE")
    differ = git(root, "diff", "--name-only", "--no-renames", "-z", base, "--") or ""
    untracked = git(root, "ls-files", "--others", "--exclude-standard", "-z") or ""
    return sorted({*differ.split("\0"), *untracked.split("\0")} - {""})


def needed(table: Table, root: Path, paths: Iterable[str]) -> dict[str, Need]:
    """Return the targets that paths need. A target that another one runs is left out."""
    needs: dict[str, Need] = {}
    for path in paths:
        for text in dict.fromkeys(targets_of(table, root, path)):
            name, *engines = text.split()
            if engines == [OWN] and not (engines := engines_of(root, path)):
                continue
            need = needs.setdefault(name, Need())
            need.paths += [] if path in need.paths else [path]
            known = need.engines is not None and bool(engines)
            need.engines = {*(need.engines or ()), *engines} if known else None
    inside = {one for name in needs for one in table["inside"].get(name, [])}
    return {name: need for name, need in needs.items() if name not in inside}


def targets_of(table: Table, root: Path, path: str) -> Iterator[str]:
    """Yield the targets of the rows that have a path, or the target `Makefile: TARGET` itself."""
    makefile, _, target = path.partition(": ")
    if makefile == "Makefile" and target in table["measured"] | table["estimated"]:
        yield target
    for row in table["row"]:
        if matches(path, row["paths"]) and not matches(path, row.get("without", ())):
            file, text = root / path, row.get("text", "")
            content = file.read_text("utf-8", "replace") if text and file.is_file() else ""
            if re.search(text, content, re.MULTILINE):
                yield from row["targets"]


def matches(path: str, globs: Iterable[str]) -> bool:
    """Return whether a glob is the path: `*` is anything within a folder, `**` anything."""
    patterns = (re.escape(g).replace(r"\*\*", ".*").replace(r"\*", "[^/]*") for g in globs)
    return any(re.fullmatch(pattern, path) for pattern in patterns)


def engines_of(root: Path, path: str) -> list[str]:
    """Return the backends of `make engines` in the path's engine, or that run the path's suite."""
    folder, suite = Path(path).parent, Path(path).with_suffix("")
    found = []
    for file in sorted(root.glob("engines/*/engine.toml")):
        own = path.startswith(f"engines/{file.parent.name}/")
        for row in tomllib.loads(file.read_text(encoding="utf-8")).get("backend", []):
            names = [f"suites/{name}" for name in row["suites"] + row.get("draws", [])]
            if row.get("in_make_engines") and (own or {str(folder), str(suite)} & {*names}):
                found.append(row["name"])
    return found


def recipes_changed(root: Path, base: str) -> list[str]:
    """Return `Makefile: TARGET` for each target whose rule differs from that of a commit.
    Raises FileNotFoundError."""
    before = rules(lambda name: git(root, "show", f"{base}:{name}"))
    now = rules(lambda name: (root / name).read_text("utf-8") if (root / name).is_file() else None)
    return [f"Makefile: {name}" for name, text in now.items() if text != before.get(name)]


def rules(read: Callable[[str], str | None], makefile: str = "Makefile") -> dict[str, str]:
    """Return each target's rule with the variables above it, also of included makefiles.
    Raises FileNotFoundError."""
    if (text := read(makefile)) is None:
        raise FileNotFoundError(f"{makefile}: this makefile is missing, here or in the base commit")
    found: dict[str, str] = {}
    targets, above = list[str](), ""
    for line in text.replace("\\\n", " ").splitlines():
        if included := re.match(r"-?include\s+(.+)", line):
            for name in included[1].split():
                found |= rules(read, name)
        elif line.startswith("\t"):
            found |= {name: f"{found[name]}\n{line}" for name in targets}
        elif rule := re.match(r"([^\s#:=][^#:=]*):(?!=)", line):
            targets = [name for name in rule[1].split() if re.fullmatch(r"[\w-]+", name)]
            found |= dict.fromkeys(targets, above + line)
            above = ""
        elif not line.startswith("#"):
            above += line
    return found


def minutes(table: Table, name: str, need: Need) -> float:
    each = table["engines"]
    named = [each.get(engine, each["other"]) for engine in need.engines or ()]
    return float(sum(named) or (table["measured"] | table["estimated"])[name])


def command(name: str, need: Need) -> list[str]:
    engines = " ".join(sorted(need.engines or ()))
    return ["make", name, *([f"ENGINES={engines}"] if engines else [])]


def shown(words: list[str]) -> str:
    return " ".join(re.sub("=(.*)", r'="\1"', word) for word in words)


def run(root: Path, commands: list[list[str]]) -> int:
    """Run targets one after the other, and print a line for each. Return 1 if one failed."""
    inner = {name: value for name, value in os.environ.items() if name not in OUTER}
    failed = 0
    sys.stdout.flush()
    for words in commands:
        begun = time.monotonic()
        status = subprocess.run(words, cwd=root, env=inner).returncode
        failed |= status != 0
        word = "FAILED" if status else "passed"
        print(f"{word} {(time.monotonic() - begun) / 60:6.1f} min  {shown(words)}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(ROOT, sys.argv[1:]))
