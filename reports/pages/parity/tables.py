"""Tables of a bundle on the parity page: backends, samplers, suites, speed, what took longest."""

from collections.abc import Iterator, Sequence
from functools import partial

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, duration, factor, share_of, tail
from sampler_parity.reports.pages.parity.labels import tally_cell
from sampler_parity.reports.pages.parity.model import ParityRow, Section, TimedBackend, Timing
from sampler_parity.reports.parts import folded
from sampler_parity.reports.pictures.forest import ForestLine, forest
from sampler_parity.reports.pictures.picture import DOT


def backends(section: Section) -> doc.Table:
    """Return what ran, and how often it met what the cases require."""
    rows: doc.Rows = []
    for s in section.backends:
        gone = [("unavailable: ", doc.Name(s.unavailable))] if s.unavailable else []
        facts = doc.Name(" ".join(filter(None, (s.version, s.build, device_label(s.device)))))
        times = [doc.num(duration(seconds * 1e9)) for seconds in (s.backend_s, s.wall_s)]
        met = share_of(s.tally.met, s.tally.judged) if s.tally.cases else "no case"
        name = doc.Lines([doc.Name(s.name), *gone])
        facts_cell = doc.TableCell(facts, kind="text")
        rows.append([name, tally_cell(s.tally, failed=False), doc.num(met), *times, facts_cell])
    return doc.Table(
        "The backends, and how often they met the requirements of the cases. The worst first.",
        "Backend | Verdicts | As required | Own calls | Wall time | Version, build, device",
        rows,
        style="stacked",
        markdown="backend | as required | verdicts | version, build, device",
    )


def verdicts(section: Section, rows: Sequence[ParityRow], head: str, caption: str) -> doc.Table:
    """Return cases by verdict: a row for each sampler or suite, a column for each backend."""
    names = [summary.name for summary in section.backends]
    cells: doc.Rows = []
    for row in rows:
        digest = [doc.Toned(doc.Code(row.digest[:12]), "quiet")] if row.digest else []
        tallies = [_tally(row, name) for name in names]
        key = doc.Lines([doc.Name(row.key or "(none)"), *digest])
        cells.append([key, doc.num(f"{row.cases:,}"), *tallies])
    heads: list[doc.Inline] = [head, "Cases", *map(doc.Name, names)]
    return doc.Table(caption, heads, cells, style="sticky", what="samplers")


def _tally(row: ParityRow, name: str) -> doc.TableCell:
    tally = row.backends[name]
    if row.cases and not tally.cases:
        return doc.TableCell("no case comes so far", "quiet")
    return tally_cell(tally)


def problems(section: Section) -> doc.Table:
    """Return the cases that fail on every backend."""
    return doc.Table(
        "Cases that fail on every backend: the reference refused them or missed what is known from "
        "elsewhere, or they ran nowhere.",
        "Case | Kind | Why | Replay",
        [
            [
                doc.Name(p.case),
                doc.TableCell(p.kind, kind="keep"),
                doc.TableCell(doc.Name(p.detail), kind="wide"),
                doc.Code(p.replay),
            ]
            for p in section.problems
        ],
        most=20,
        what="cases without a result",
    )


def speed(section: Section, few: int) -> Iterator[doc.Block]:
    """Yield the ratio rule, each timing and a picture of the ratios."""
    timings = section.timings
    if not timings:
        none = "No sampler was timed next to the reference in this run."
        yield doc.InHtml([doc.Paragraph(none)])
        return
    met = f"{sum(row.rule.met is True for row in timings)}/{len(timings)}"
    rule = "Rule: the median of the reference is at most 2 × that of llama.cpp + 50 µs."
    yield doc.InHtml([doc.Paragraph(f"{rule} Met by {met}.")])
    yield doc.InMarkdown([doc.Heading(3, f"Speed: {met} within 2 x llama.cpp + 50 µs")])
    head = "Sampler | Vocabulary | Backend | Median | Slow end | Ratio to llama.cpp | Rule | Parity"
    table = doc.Table(
        "Time of one application of the chain. Ratio of medians to llama.cpp with its bootstrap "
        "95% interval, whole rounds drawn together. Rows that miss the rule first.",
        head,
        [_timed(t, timed) for t in timings for timed in t.backends],
        most=40,
    )
    yield folded(len(timings), "timed chain", few, [table])
    yield doc.Picture(
        "Chart of the ratios",
        "Ratio of medians, logarithmic; dot and whiskers: ratio and its 95% interval; upright "
        "mark: what the rule allows. The table above has the figures.",
        partial(ratios, timings),
    )


def _timed(t: Timing, timed: TimedBackend) -> doc.Cells:
    """Return a row; the rule and the parity stand once, in the row of the first backend."""
    ratio = "" if timed.name == "llama.cpp" else "no ratio"
    if r := timed.ratio:
        ratio = factor(r.value, r.low, r.high)
        ratio += " (one round: no interval)" if r.low is None else ""
    first = timed == t.backends[0]
    ok = t.parity_met == t.parity_cases and t.parity_cases
    parity = doc.num(f"{t.parity_met:,}/{t.parity_cases:,}", "good" if ok else "bad")
    return [
        doc.TableCell(doc.Name(t.sampler), kind="keep"),
        doc.num(f"{t.n_vocab:,}"),
        doc.TableCell(doc.Name(timed.name), kind="keep"),
        doc.num(duration(timed.median_ns)),
        tail(timed.p99_ns, timed.p999_ns, timed.samples),
        doc.TableCell(ratio, kind="keep"),
        *([_rule(t), parity] if first else ["", ""]),
    ]


def _rule(t: Timing) -> doc.TableCell:
    if t.rule.limit_ns is None:
        return doc.judged(f"not judged: {t.rule.why}", "bad")
    text = f"{'met' if t.rule.met else 'NOT met'}: at most {duration(t.rule.limit_ns)}"
    return doc.judged(text, "good" if t.rule.met else "bad")


def ratios(timings: Sequence[Timing], salt: str) -> str:
    """Draw the reference's ratio to llama.cpp and the ratio that the rule allows."""
    marks = []
    for t in timings:
        by_name = {backend.name: backend for backend in t.backends}
        native = by_name["llama.cpp"].median_ns if "llama.cpp" in by_name else 0.0
        r = by_name["reference"].ratio if "reference" in by_name else None
        if r and native:
            limit = None if t.rule.limit_ns is None else t.rule.limit_ns / native
            low, high = (r.value if bound is None else bound for bound in (r.low, r.high))
            label = f"{t.sampler} V={t.n_vocab:,}"
            marks.append(ForestLine(label, low, r.value, high, DOT, limit=limit))
    return forest(marks, "median of the reference / median of llama.cpp", salt)


def slowest(section: Section) -> doc.Table:
    """Return the cases that took longest."""
    names = [summary.name for summary in section.backends]
    rows: doc.Rows = [
        [
            c.case,
            doc.num(f"{c.steps:,}"),
            doc.num(duration(c.reference_s * 1e9)),
            *(
                doc.num(duration(c.wall_s[name] * 1e9) if name in c.wall_s else "not run")
                for name in names
            ),
        ]
        for c in section.slowest
    ]
    return doc.Table(
        "The cases that took longest: seconds on the reference and on each backend, transport and "
        "comparison included.",
        ["Case", "Steps", "reference, in process", *names],
        rows,
    )
