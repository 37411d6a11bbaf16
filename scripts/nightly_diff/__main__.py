"""Compare two nights: `python -m scripts.nightly_diff BEFORE AFTER FILE.md`.

BEFORE and AFTER are folders of bundles. Exit status 1 if something got worse: a case or a test that
was as required and is not, a backend, a bundle or cases that are gone. The page notes a missing
folder BEFORE.
"""

import sys
from collections import Counter
from pathlib import Path

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.cli.output import error, print_line
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.sanitize.printable import code, safe
from sampler_parity.reports.writers.ci import table
from scripts.nightly_diff.changes import ORDER, WORSE, Kind, NightlyChange, changes, read_night

TITLES: dict[Kind, str] = {
    "gone": "No longer there",
    "worse": "No longer as required",
    "changed": "Another verdict, of the same worth",
    "fixed": "Fixed",
    "new": "New",
    "version": "Another version",
}
ROWS = 100  # of a table; the bundles have all
_HEAD = ["bundle", "backend", "what", "the night before", "last night", ""]


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        error("three words are needed: BEFORE AFTER FILE.md")
        return 2
    before, after, page = map(Path, arguments)
    try:
        new = read_night(after)
        lines = changes(read_night(before), new) if before.is_dir() else None
        text = markdown(lines, len(new))
        try:
            disk.make_folder(page.parent)
            disk.write_whole(page, text.encode())
        except OSError as failure:
            raise cannot_write(page, failure, "choose another file") from None
    except InputError as refused:
        error(str(refused))
        return 2
    worse = [one for one in lines or [] if one.kind in WORSE]
    print_line(f"night    {len(new):,} bundles, {summary(lines)}   {page}")
    return 1 if worse else 0


def summary(lines: list[NightlyChange] | None) -> str:
    if lines is None:
        return "no night before to compare with"
    counts = Counter(one.kind for one in lines)
    parts = [f"{counts[kind]:,} {TITLES[kind].lower()}" for kind in ORDER if counts[kind]]
    return "; ".join(parts) or "nothing changed"


def markdown(lines: list[NightlyChange] | None, bundles: int) -> str:
    """Return the page: a part for each kind of change, the worse ones first."""
    text = ["# What changed since the night before", "", f"{bundles:,} bundles: {summary(lines)}."]
    for kind in ORDER:
        rows = [one for one in lines or [] if one.kind == kind]
        if rows:
            text += ["", f"## {TITLES[kind]}", "", *table(_HEAD, list(map(_row, rows[:ROWS])))]
        if len(rows) > ROWS:
            text += ["", f"{len(rows) - ROWS:,} more, which the bundles have."]
    return "\n".join(text) + "\n"


def _row(one: NightlyChange) -> list[str]:
    backend = code(one.backend) if one.backend else ""
    before, after = (safe(text) or "-" for text in (one.before, one.after))
    finding = "finding" if one.finding else ""
    return [code(one.bundle), backend, code(one.subject), before, after, finding]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
