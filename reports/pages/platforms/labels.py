"""What the platforms page calls things, in HTML and Markdown."""

from sampler_parity.reports.pages.platforms.model import Cell, Column

PARTS = {
    "contraction": "contraction",
    "conversion": "float to int",
    "sorting": "sorting",
    "random": "random numbers",
    "libm": "C library",
}


def level(cell: Cell) -> str:
    """The worst that differs there, with how many of how many: "text 3/4", "all alike"."""
    for name, same, of in _facts(cell):
        if same < of:
            return f"{name} {same:,}/{of:,}"
    return "alike"


def _facts(cell: Cell) -> list[tuple[str, int, int]]:
    return [
        ("texts", cell.same_texts, cell.texts),
        ("tokens", cell.tokens, cell.drawing),
        ("survivors", cell.survivors, cell.cases),
        ("order", cell.order, cell.cases),
        ("bits", cell.bits, cell.cases),
    ]


def shade(cell: Cell | None) -> str:
    """Green: to the bit. Amber: other bits, the same tokens. Red: other tokens or survivors."""
    if cell is None:
        return "quiet"
    if cell.bits == cell.cases:
        return "good"
    same = cell.tokens == cell.drawing and cell.survivors == cell.cases
    return "fair" if same else "bad"


def of(same: int, cases: int) -> str:
    return f"{same:,}/{cases:,}" if cases else ""


def texts(cell: Cell) -> str:
    """ "3/4, from token 17 on"."""
    turned = f", from token {cell.token + 1} on" if cell.token is not None else ""
    return of(cell.same_texts, cell.texts) + turned


def run(column: Column) -> str:
    """What the prediction rests on."""
    if not column.builds:
        return "predicted; no build of it was asked"
    judged = sum(build.judged for build in column.builds)
    identical = sum(build.identical for build in column.builds)
    return f"{identical:,}/{judged:,} cases of real builds are as predicted"
