"""The parity page as Markdown, short enough for a comment on a pull request."""

from sampler_parity.harness.failures.format_difference import (
    differing_lines,
    in_one_line,
    known_lines,
)
from sampler_parity.harness.failures.groups import FOLDED, Group
from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.labels import duration, figure
from sampler_parity.reports.pages.parity.html import counts
from sampler_parity.reports.pages.parity.matrix_model import MatrixCell, ParityMatrix
from sampler_parity.reports.pages.parity.model import (
    Configuration,
    Devices,
    Drift,
    DriftCell,
    Problem,
    Report,
    Row,
    Section,
    Timing,
)
from sampler_parity.reports.writers.markdown import fitting, table

SHOWN = 20


def markdown(report: Report) -> str:
    """Fewer failures are listed, then rows left out, with their number, until it fits."""
    sizes = ((SHOWN, 60), (5, 30), (1, 10), (0, 0))
    return fitting("\n".join(_lines(report, shown, rows)) + "\n" for shown, rows in sizes)


def _lines(report: Report, shown: int, rows: int) -> list[str]:
    lines = [f"# Parity report: {'ok' if report.ok else 'FAILED'}", ""]
    for section in report.sections:
        lines += [f"## {code(section.bundle)}: {'ok' if section.ok else 'FAILED'}", ""]
        lines += [*_findings(section, shown), *_problems(section, shown)]
        lines += [_headline(section), "", *_backends(section), ""]
        lines += [*_matrix(section, rows), ""]
        if section.timings:
            lines += [*_speed(section.timings, shown), ""]
    lines += _implementations(report.matrix) if report.matrix else []
    lines += _drift(report.drift, shown) if report.drift else []
    return lines + (_devices(report.devices, shown) if report.devices else [])


def _devices(devices: Devices, shown: int) -> list[str]:
    head = ["configuration", "equal prompts", "largest difference", "largest KL", "mean KL"]
    head += ["same top-1", "parted texts"]
    several = len({c.bundle for c in devices.configurations}) > 1
    rows = [_configuration(c, several) for c in devices.configurations]
    lines = ["## Hardware configurations", "", *table(head, rows), ""]
    lines += ["Against the first configuration of each bundle; KL in nats.", ""]
    if devices.across:
        lines += [f"Beside {code(devices.across[0].base)}, on rows that both bundles keep:", ""]
        rows = [
            [
                f"{code(a.backend)} of {code(a.bundle)}",
                _of(a.equal, a.prompts),
                figure(a.difference),
                figure(a.kl_max),
                _of(a.top1, a.kept),
            ]
            for a in devices.across
        ]
        head = ["configuration", "equal prompts", "largest difference", "largest KL", "same top-1"]
        lines += [*table(head, rows), ""]
    for text in devices.parted[:shown]:
        lines.append(
            f"- {code(text.case)} on {code(text.backend)} parts at token {text.step + 1}: "
            f"{text.token} instead of {text.first_token}, margin {figure(text.margin)}, logits "
            f"differ by up to {figure(text.difference)}; {text.verdict}, the first "
            f"{text.first_verdict}"
        )
    left_out = len(devices.parted) - shown
    return [*lines, f"- {left_out:,} more texts part.", ""] if left_out > 0 else [*lines, ""]


def _configuration(c: Configuration, several: bool) -> list[str]:
    name = code(c.backend) + (f" of {code(c.bundle)}" if several else "")
    name += " (the first)" if c.backend == c.first else ""
    if c.unavailable:
        return [name, f"does not run here: {code(c.unavailable)}", *[""] * 5]
    equal = _of(c.equal, c.compared)
    if c.compared < c.prompts:
        equal += f", {c.prompts - c.compared:,} without figures {code(c.failed)}"
    figures = [figure(value) for value in (c.difference, c.kl_max, c.kl_mean)]
    return [name, equal, *figures, _of(c.top1, c.rows), _of(c.parted, c.texts)]


def _of(n: int, total: int) -> str:
    return f"{n:,}/{total:,}" if total else "none"


def _implementations(matrix: ParityMatrix) -> list[str]:
    """The matrix in figures; below it each explanation once, for each backend."""
    rows = [[code(row.sampler), *map(_implementation, row.cells)] for row in matrix.rows]
    lines = ["## Samplers by implementation", ""]
    if matrix.unexplained:
        lines += [f"**FAILED: {matrix.unexplained:,} results are not explained.**", ""]
    lines += [*table(["sampler", *map(code, matrix.backends)], rows), ""]
    for at, name in enumerate(matrix.backends):
        differences = [d for row in matrix.rows for d in row.cells[at].differences]
        said = [
            f"- {code(name)}{f' at {code(d.stage)}' if d.stage else ''}, {d.verdict}: "
            f"{safe(d.why) if d.why else '**not explained**'}"
            for d in differences
        ]
        lines += dict.fromkeys(said)
    return [*lines, ""]


def _implementation(cell: MatrixCell) -> str:
    if not cell.cases:
        return "no case"
    parts = [f"{cell.identical:,}/{cell.cases:,} identical"]
    parts += [
        f"{d.cases:,} {d.verdict}{f' at {safe(d.stage)}' if d.stage else ''}"
        for d in cell.differences
    ]
    return ", ".join(parts)


def _drift(drift: Drift, shown: int) -> list[str]:
    rows = [[code(row.sampler), *map(_drift_cell, row.cells), row.verdict] for row in drift.rows]
    head = ["sampler", *(safe(column.release) for column in drift.columns), "in words"]
    lines = ["## Drift across releases", "", *table(head, rows), ""]
    for change in drift.changes[: 4 * shown]:
        cases = sum(change.cases.values())
        lines += [
            f"- **{safe(change.name)}** ({safe(', '.join(change.samplers))}; old up to "
            f"{change.last_old}, new from {change.first_new}; {cases:,} cases):",
            f"  old: {safe(change.old)} New: {safe(change.new)}",
        ]
        if change.replay:
            lines.append(f"  replay: {code(change.replay, 400)}")
    return [*lines, ""]


def _drift_cell(cell: DriftCell) -> str:
    if cell.cases == cell.lacking:
        return "not in it" if cell.cases else "no case"
    if cell.unexplained:
        return f"**{cell.unexplained:,}/{cell.cases - cell.lacking:,} not explained**"
    if cell.unknown:
        return f"{cell.unknown:,}/{cell.cases - cell.lacking:,} not known"
    text = f"{cell.changed:,}/{cell.identical:,} other" if cell.changed else "as v0.5.0"
    text += ", by its neighbours" * cell.by_neighbours
    return f"{text}, {cell.undefined:,} undefined" if cell.undefined else text


def _headline(section: Section) -> str:
    machine = section.run.machine
    return (
        f"{section.cases_met:,}/{section.cases_judged:,} cases as required on every backend, "
        f"{section.steps:,} steps ({section.draws:,} draws), {section.wall_s:,.1f} s, on "
        f"{code(machine.cpu)}, {code(machine.system)}, {code(machine.libc)}."
    )


def _backends(section: Section) -> list[str]:
    rows = []
    for summary in section.backends:
        verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts(summary.tally))
        if summary.unavailable:
            verdicts += f"; unavailable: {code(summary.unavailable)}"
        facts = " ".join(x for x in (summary.version, summary.build, summary.device) if x)
        required = f"{summary.tally.met:,}/{summary.tally.judged:,}"
        rows.append([code(summary.name), required, verdicts, code(facts)])
    return table(["backend", "as required", "verdicts", "version, build, device"], rows)


def _matrix(section: Section, most: int) -> list[str]:
    names = [summary.name for summary in section.backends]
    rows = [_matrix_row(row, names) for row in section.matrix[:most]]
    lines = table(["sampler", "cases", *map(code, names)], rows)
    left_out = len(section.matrix) - len(rows)
    return [*lines, "", f"{left_out:,} more samplers."] if left_out else lines


def _matrix_row(row: Row, names: list[str]) -> list[str]:
    cells = []
    for name in names:
        tally = row.backends[name]
        text = ", ".join(f"{n} {verdict}" for verdict, n in counts(tally))
        failed = tally.judged - tally.met
        cells.append(f"{text} (**{failed:,} failed**)" if failed else text)
    return [code(row.key), f"{row.cases:,}", *cells]


def _findings(section: Section, shown: int) -> list[str]:
    """A row for each group of failures, the worst first."""
    if not section.findings:
        return []
    rows = [_finding(group) for group in [*section.told[:shown], *section.folded[:shown]]]
    lines = table(["finding", "backend", "smallest", "replay"], rows)
    left_out = len(section.findings) - len(rows)
    return [*lines, "", *([f"{left_out:,} more groups of failures.", ""] if left_out else [])]


def _finding(group: Group) -> list[str]:
    example = group.example
    smallest = [code(example.case)]
    if example.small is not None:
        smallest.append(code(in_one_line(example.small.case)))
    smallest += [safe(line) for line in differing_lines(example.shown)]
    smallest += [safe(line) for line in known_lines(group)]
    said = f"**{safe(group.text)}**" if group.verdict not in FOLDED else safe(group.text)
    return [said, code(group.backend), "; ".join(smallest), code(example.replay, 400)]


def _problems(section: Section, shown: int) -> list[str]:
    if not section.problems:
        return []
    problems = section.problems[:shown]
    lines = [f"### Cases without a result: {len(problems):,} of {len(section.problems):,} shown"]
    return [*lines, "", *(line for problem in problems for line in _problem(problem)), ""]


def _problem(problem: Problem) -> list[str]:
    return [
        f"- **{problem.kind}** {code(problem.case)}: {code(problem.detail)}",
        f"  replay: {code(problem.replay, 400)}",
    ]


def _speed(timings: list[Timing], shown: int) -> list[str]:
    met = sum(row.rule.met is True for row in timings)
    lines = [f"### Speed: {met:,}/{len(timings):,} within 2 x llama.cpp + 50 µs", ""]
    rows = [_speed_row(row) for row in timings[:shown]]
    head = ["sampler", "vocabulary", "reference", "llama.cpp", "ratio [95%]", "rule"]
    return [*lines, *table(head, rows)] if rows else lines


def _speed_row(row: Timing) -> list[str]:
    timed = {backend.name: backend for backend in row.backends}
    medians = [
        duration(timed[name].median_ns) if name in timed else "not timed"
        for name in ("reference", "llama.cpp")
    ]
    ratio = timed["reference"].ratio if "reference" in timed else None
    text = "none"
    if ratio is not None:
        text = f"{ratio.value:.3g}"
        if ratio.low is not None and ratio.high is not None:
            text += f" [{ratio.low:.3g}, {ratio.high:.3g}]"
    rule = {True: "met", False: "**NOT met**", None: f"not judged: {row.rule.why}"}[row.rule.met]
    return [code(row.sampler), f"{row.n_vocab:,}", *medians, text, rule]
