"""The matrix page as Markdown: both tables, then what differs, the worst of each engine first."""

from collections.abc import Iterator

from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.pages.matrix import labels as words
from sampler_parity.reports.pages.matrix.model import Cell, Difference, Engine, Matrix
from sampler_parity.reports.writers.markdown import fitting, table


def markdown(matrix: Matrix) -> str:
    return fitting("\n".join(_lines(matrix, most)) + "\n" for most in (1000, 20, 5, 0))


def _lines(matrix: Matrix, most: int) -> Iterator[str]:
    """most: differences that are shown of an engine."""
    yield "# Engines"
    yield ""
    yield from (f"- {line}" for line in words.headlines(matrix))
    yield ""
    yield "Identical of judged cases, and what differs; *lacks*: nothing of it is claimed."
    yield ""
    of_property = [words.spaced(each.name) for each in matrix.properties]
    drawn = ["draws"] if any(e.law for e in matrix.engines) else []
    rows = [
        [*_head(e), *map(_cell, e.properties), *([_law(e)] if drawn else [])]
        for e in matrix.engines
    ]
    yield from table(["engine", "version", *of_property, *drawn], rows)
    yield ""
    if matrix.samplers:
        ran = [e for e in matrix.engines if any(cell.judged for cell in e.samplers)]
        rows = [[code(e.name), *map(_cell, e.samplers)] for e in ran]
        yield from table(["engine", *map(code, matrix.samplers)], rows)
        yield ""
    for engine in matrix.engines:
        yield from _differences(engine, most)
    if matrix.absent:
        yield "## Not in these bundles"
        yield ""
        for absent in matrix.absent:
            needs = f" (needs {absent.needs})" if absent.needs else ""
            yield f"- {code(absent.name)}{needs}: {code(absent.command, 300)}"


def _head(engine: Engine) -> list[str]:
    said = f"did not run: {engine.unavailable}" if engine.unavailable else engine.version
    return [code(engine.name), safe(said, 120)]


def _cell(cell: Cell) -> str:
    mark = "**" if words.shade(cell) == "bad" else ""
    said = ", ".join(filter(None, [words.counted(cell), *words.differs(cell)]))
    return f"{mark}{said}{mark}" if said else ""


def _law(engine: Engine) -> str:
    if engine.law is None:
        return ""
    equivalent = f"{engine.law.equivalent:,}/{engine.law.tests:,} equivalent"
    return ", ".join([equivalent, *words.others(engine.law)])


def _differences(engine: Engine, most: int) -> Iterator[str]:
    told = [(cell, difference) for cell in engine.cells for difference in cell.differences]
    if not told or not most:
        return
    yield f"## {code(engine.name)}"
    yield ""
    if engine.page:
        yield f"What it means by its parameters: {code(engine.page)}"
        yield ""
    yield from (_told(cell, difference) for cell, difference in told[:most])
    if len(told) > most:
        yield f"- and {len(told) - most:,} more"
    yield ""


def _told(cell: Cell, difference: Difference) -> str:
    parts = [
        f"{safe(cell.column, 60)}: {difference.cases:,} {difference.verdict}",
        safe(difference.description, 80),
        safe(words.both(difference), 200),
        words.near(difference),
        safe(difference.why, 160),
        f"**{words.state(difference)}**" if words.state(difference) else "",
        code(difference.replay, 300),
    ]
    return f"- {'; '.join(filter(None, parts))}"
