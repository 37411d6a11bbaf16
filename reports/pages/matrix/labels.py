"""Labels of the matrix page."""

from typing import Any

from sampler_parity.harness.failures.format_difference import number
from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import several
from sampler_parity.reports.pages.matrix import model

REFERENCE = "reference"  # what the engines are compared with, and none of them


def counted(cell: model.MatrixCell) -> str:
    """Return identical of judged: "7/9"; "lacks" where the engine claims nothing of it."""
    if cell.judged:
        return f"{cell.identical:,}/{cell.judged:,}"
    return "lacks" if cell.lacks else ""


def differs(cell: model.MatrixCell) -> list[str]:
    """Return, of what differs, how many by verdict, the worst first: ["2 tied", "1 rejected"]."""
    by_verdict: dict[str, int] = {}
    for difference in cell.differences:
        if difference.verdict != "identical":
            verdict = difference.verdict
            by_verdict[verdict] = by_verdict.get(verdict, 0) + difference.cases
    return [f"{n:,} {verdict}" for verdict, n in by_verdict.items()]


def tone(cell: model.MatrixCell) -> Tone:
    """Return the colour of a cell, which repeats the meaning of its words."""
    if not cell.judged:
        return "quiet"
    if cell.met < cell.judged or cell.unexplained:
        return "bad"
    return "good" if cell.identical == cell.judged else "fair"


def tone_of_distribution(law: model.DrawTally) -> Tone:
    """Return the colour of an engine's draws."""
    if law.met < law.tests:
        return "bad"
    return "good" if law.equivalent == law.tests else "fair"


def others(law: model.DrawTally) -> list[str]:
    """Return what is decided of draws that are not equivalent: ["1 different", "2 undecided"]."""
    return [f"{n:,} {decision}" for decision, n in law.others.items()]


def near(difference: model.CellDifference) -> str:
    """Return how near it is: of a boundary to the cut, of what is close to the value."""
    if difference.margin is None:
        return ""
    if difference.verdict == "boundary":
        return f"{difference.margin:.1g} of the cut" if difference.margin else "exactly at the cut"
    return f"off by {difference.margin:.1g}"


def both(difference: model.CellDifference) -> str:
    """Return what was got and what was expected: "drawn 1, 2, 3, 4; expected 1, 2"."""
    if difference.got is None and difference.expected is None:
        return ""
    what = "got" if difference.what in ("", "value") else difference.what
    return f"{what} {_value(difference.got)}; expected {_value(difference.expected)}"


def state(difference: model.CellDifference) -> str:
    """Return what is wrong with it for the maintainers of the engine; or ''."""
    if not difference.required:
        return "not as required"
    return "" if difference.why else "not explained"


def headlines(matrix: model.Matrix) -> list[str]:
    """Return what the matrix comes to, a line each."""
    engines = [engine for engine in matrix.engines if engine.name != REFERENCE]
    ran = [engine for engine in engines if not engine.unavailable]
    whole = sum(engine.judged > 0 and engine.identical == engine.judged for engine in ran)
    asked = sum(engine.judged > 0 for engine in ran)
    lines = [f"{several(len(ran), 'engine')} ran; {whole:,}/{asked:,} have every property asked"]
    if len(ran) < len(engines):
        lines.append(f"{len(engines) - len(ran):,} did not run here")
    if matrix.unexplained:
        lines.append(f"not explained: {several(matrix.unexplained, 'result')}")
    if matrix.failing:
        lines.append(f"not as required: {several(matrix.failing, 'result')}")
    return lines


_HEADS = {
    "top_k_zero": "top-k 0",
    "top_p_one": "top-p 1",
    "temp_zero": "temp 0",
    "batch_rows": "batch",
}


def spaced(name: str) -> str:
    """Return the head of a column, which may break between its words."""
    return _HEADS.get(name, name.replace("_", " "))


def differing(engine: model.EngineRow) -> str:
    """Return the properties at which an engine is not llama.cpp's: "differs at ties, temp 0"."""
    columns = [spaced(c.column) for c in engine.properties if c.judged > c.identical]
    if columns:
        return f"differs at {', '.join(columns)}"
    return "has every property asked" if engine.judged else ""


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(number, value)) or "none"
    return number(value)
