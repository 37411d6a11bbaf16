"""The result of a page: its findings and the map of samplers for index.html, its lines for the
terminal.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sampler_parity.harness.failures.groups import Small
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict


class PageFinding(Strict):
    """A line of index.html. anchor: the id of its place on its page, the same from run to run.

    fails: it fails the page; else it is a note. replay: the command that runs an example again, or
    "". minimized: the smallest input found that shows it.
    """

    text: str
    anchor: str
    fails: bool = True
    replay: str = ""
    minimized: Small | None = None


class HeatCell(Strict):
    """A sampler on a backend: of `cases` that were judged, so many fail, and so many more are not
    identical, as allowed. worst, anchor: of the worst group of those that fail; None, ""."""

    cases: int
    failing: int
    allowed: int
    skipped: int
    worst: Verdict | None
    anchor: str


class HeatRow(Strict):
    """cells: by the backends of the map."""

    sampler: str
    cells: list[HeatCell]


class HeatMap(Strict):
    """stem: the page that the anchors are on. rows: where most fails first."""

    stem: str
    backends: list[str]
    rows: list[HeatRow]


@dataclass(frozen=True)
class PageSummary:
    """ok: None where the page only measures. headlines: what it comes to, a line each. lines: what
    a run prints of it, last: at the very end. findings, heat_map: what stands above the rest in
    index.html."""

    ok: bool | None
    headlines: Sequence[str]
    lines: Sequence[str] = ()
    last: str = ""
    findings: Sequence[PageFinding] = ()
    heat_map: HeatMap | None = None


def anchor(*names: str, of: int = 0, among: int = 1) -> str:
    """Return an id for what has these names: letters, digits, dots and dashes, the same from run to
    run.

    of, among: its bundle, where a page is of several: names may come again in another one.
    """
    exact = "\n".join(names)
    slug = re.sub(r"[^a-z0-9_.]+", "-", "-".join(names).lower())[:80].strip("-")
    bundle = f"b{of + 1}-" if among > 1 else ""
    return f"{bundle}{slug}-{hashlib.sha256(exact.encode()).hexdigest()[:6]}"
