"""What the servers page calls things, in HTML and Markdown."""

from sampler_parity.harness.bundle.records.server import Group
from sampler_parity.reports.pages.servers.model import Cell, Server

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


def folded(server: Server, most: int) -> list[tuple[str, list[Cell]]]:
    """What is not shown at once: beyond the first `most` that are wrong, and all that is right."""
    wrong = server.wrong
    parts = {"Parameters": server.of("parameter")}
    parts |= {title: server.of(group) for group, title in GROUPS.items()}
    right = {title: [cell for cell in cells if cell not in wrong] for title, cells in parts.items()}
    more = {"More that is not as required": wrong[most:]}
    return [(title, cells) for title, cells in (more | right).items() if cells]
