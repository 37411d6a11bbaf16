"""What the servers page calls things, in HTML and Markdown."""

from sampler_parity.harness.bundle.records.server import Group
from sampler_parity.reports.pages.servers.model import Cell

GROUPS: dict[Group, str] = {
    "exact": "Every token predicted",
    "law": "In law",
    "probabilities": "Probabilities",
    "state": "State",
    "speed": "Speed",
}


def shade(cell: Cell | None) -> str:
    if cell is None or cell.verdict == "skipped":
        return "quiet"
    if not cell.met:
        return "bad"
    return "good" if cell.verdict == "honoured" and not cell.silent else "fair"


def evidence(cell: Cell) -> str:
    silent = f"; taken in silence: {', '.join(cell.silent)}" if cell.silent else ""
    known = "; known" if cell.known else ""
    return f"{cell.evidence}{silent}{known}"
