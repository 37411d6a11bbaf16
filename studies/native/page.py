"""The pages coverage.html and coverage.md: by sampler and by suite, and every line by number."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.reports import document as doc
from sampler_parity.reports.writers.ci import table
from sampler_parity.reports.writers.html import html as write_html
from studies.native import counts
from studies.native.reasons import Entry, Judged, judge

SEVERAL = "several"  # code that several samplers use


@dataclass
class Row:
    """A sampler or a whole file: counts of lines and branches, and lines by part."""

    lines: int = 0
    reached: int = 0
    explained: int = 0
    branches: int = 0
    taken: int = 0
    ways_explained: int = 0

    def add(self, line: counts.Line, judged: Judged) -> None:
        place = (line.file, line.number)
        self.lines += 1
        self.reached += line.count > 0
        self.explained += place in judged.reasons
        if line.count == 0:
            return  # its branches are as unreached as the line, which has its reason
        taken = sum(count > 0 for count in line.branches)
        self.branches += len(line.branches)
        self.taken += taken
        self.ways_explained += (len(line.branches) - taken) * (place in judged.ways)

    @property
    def share(self) -> float:
        """The share of the branches of reached lines that is taken or explained."""
        return (self.taken + self.ways_explained) / self.branches if self.branches else 1.0

    def cells(self) -> list[str]:
        return [
            f"{self.reached}/{self.lines}",
            f"{self.explained}",
            f"{self.lines - self.reached - self.explained}",
            f"{self.taken}/{self.branches}",
            f"{self.ways_explained}",
            f"{self.branches - self.taken - self.ways_explained}",
        ]


TITLE = "What the quick suites reach of llama.cpp's samplers"
INTRO = (
    "Counted by gcov. Branches are the ways out of a line that is reached, without those that only "
    "an exception takes. Explained: in ",
    doc.Code("studies/native/unreached.toml"),
    ", with the reason.",
)
ORDER = "By sampler, in the order of the source."
RAN = "Times that a line ran, the ways out of it that were never taken, and why."
HEAD = ["Lines reached", "explained", "neither", "Branches taken", "explained", "neither"]


def write(
    counted: counts.Counts,
    entries: list[Entry],
    folder: Path,
    least: float,
) -> list[str]:
    """Write both pages, and return one line for each problem."""
    totals = {file: counts.added(parts.values()) for file, parts in counted.items()}
    judged = judge([line for lines in totals.values() for line in lines], entries)
    problems = [
        f"{line.file}:{line.number} {line.function}: reached by no suite, not listed: {line.text}"
        for line in judged.unlisted
    ]
    problems += [
        f"unreached.toml: stale, nothing is unreached there: {text}" for text in judged.stale
    ]
    rows = {file: rows_of(lines, judged) for file, lines in totals.items()}
    for file, of_file in rows.items():
        if of_file["all"].share < least:
            share = f"{of_file['all'].share:.1%} of the branches taken or explained"
            problems.append(f"{file}: {share}, {least:.0%} must be")
    parts = {file: by_part(of_parts) for file, of_parts in counted.items()}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "coverage.md").write_text(markdown(rows, parts))
    (folder / "coverage.html").write_text(html(rows, parts, totals, judged, problems))
    return problems


def rows_of(lines: list[counts.Line], judged: Judged) -> dict[str, Row]:
    """Return rows by sampler, in the order of the source; the whole file is "all"."""
    rows: dict[str, Row] = defaultdict(Row)
    for line in lines:
        for name in ("all", counts.sampler_of(line.function) or SEVERAL):
            rows[name].add(line, judged)
    return dict(rows)


def by_part(parts: dict[str, list[counts.Line]]) -> dict[str, tuple[int, int]]:
    """Return the lines that a part reaches, and those that no other does."""
    reached = {part: {line.number for line in lines if line.count} for part, lines in parts.items()}
    alone = {
        part: numbers - set().union(*(other for name, other in reached.items() if name != part))
        for part, numbers in reached.items()
    }
    return {part: (len(reached[part]), len(alone[part])) for part in parts}


def markdown(rows: dict[str, dict[str, Row]], parts: dict[str, dict[str, tuple[int, int]]]) -> str:
    text = [f"# {TITLE}", ""]
    for file, of_file in rows.items():
        body = [[name, *row.cells()] for name, row in of_file.items()]
        text += [f"## {file}", "", *table(["", *HEAD], body), ""]
        suites = [[part, str(n), str(alone)] for part, (n, alone) in parts[file].items()]
        text += [*table(["Suites", "Lines reached", "by no other"], suites), ""]
    return "\n".join(text)


def html(
    rows: dict[str, dict[str, Row]],
    parts: dict[str, dict[str, tuple[int, int]]],
    totals: dict[str, list[counts.Line]],
    judged: Judged,
    problems: list[str],
) -> str:
    blocks: list[doc.Block] = [
        doc.Paragraph(f"{len(problems)} problems", "bad" if problems else "good", "state"),
        *(doc.Paragraph(problem, "bad") for problem in problems),
    ]
    for file, of_file in rows.items():
        samplers: doc.Rows = [[name, *map(doc.num, row.cells())] for name, row in of_file.items()]
        suites: doc.Rows = [
            [part, *map(doc.num, map(str, pair))] for part, pair in parts[file].items()
        ]
        lines = [_line(line, judged) for line in totals[file]]
        every = doc.Table(RAN, "Line | Ran | Untaken | Source | Why not", lines, "sticky")
        blocks += [
            doc.Heading(2, file, file),
            doc.Table(ORDER, ["Sampler", *HEAD], samplers, "sticky"),
            doc.Table("By suite.", "Suites | Lines reached | by no other", suites),
            doc.Fold(f"Every line of {file} that holds code", [every]),
        ]
    title = f"Coverage of llama.cpp: {'FAILED' if problems else 'ok'}"
    return write_html(doc.Document(title, TITLE, [doc.Paragraph(INTRO)], blocks))


def _line(line: counts.Line, judged: Judged) -> doc.Cells:
    place = (line.file, line.number)
    untaken = sum(count == 0 for count in line.branches) if line.count else 0
    why = judged.reasons.get(place) or (judged.ways.get(place, "") if untaken else "")
    tone: doc.Tone = "good" if line.count and not untaken else "fair" if why else "bad"
    counted = [
        doc.num(f"{line.number}"),
        doc.num(f"{line.count}", tone),
        doc.num(f"{untaken or ''}"),
    ]
    return [*counted, doc.Code(line.text), why]
