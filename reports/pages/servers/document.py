"""The servers page: parameter x server, then the evidence and the request of each."""

from collections.abc import Iterator, Sequence

from sampler_parity.harness.bundle.records.server import Group
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import state_of
from sampler_parity.reports.pages.servers.model import CheckedServer, ServerCell, ServersReport
from sampler_parity.reports.parts import state
from sampler_parity.reports.summary import anchor

MOST = 12  # that are wrong and stand open, of a server
INTRO = (
    "The treatment of each parameter by each server, seen over HTTP. Each cell leads to its "
    "evidence and to the request that shows it."
)
GROUPS: dict[Group, str] = {
    "exact": "Every token predicted",
    "law": "In distribution",
    "probabilities": "Probabilities",
    "state": "State",
    "speed": "Speed",
}


def document(report: ServersReport) -> doc.Document:
    """Return the page of a report."""
    title, lines = f"Servers: {state_of(report.ok)}", headlines(report)
    legend = (
        *(doc.Toned("honoured", "good"), " "),
        doc.Toned("honoured, but nonsense is accepted silently; or another known verdict", "fair"),
        *(" ", doc.Toned("not as required", "bad"), " ", doc.Toned("not asked", "quiet")),
    )
    above = [
        doc.InHtml([state(report.ok, f"{'; '.join(lines)}.")]),
        doc.InMarkdown([doc.Items([doc.Untrusted(line, 600) for line in lines])]),
        doc.Heading(2, "Parameters", "parameters"),
        doc.Paragraph(legend, style="legend"),
    ]
    evidence = [block for server in report.servers for block in _server(server)]
    return doc.Document(
        title, "Servers", [doc.Paragraph(INTRO)], [*above, _table(report), *evidence]
    )


def headlines(report: ServersReport) -> list[str]:
    """Return what the report comes to, a line each."""
    met = sum(cell.met for cell in report.judged)
    lines = [f"{met:,}/{len(report.judged):,} as required on {len(report.servers):,} servers"]
    if exact := [cell for cell in report.judged if cell.group == "exact"]:
        right = sum(cell.requests for cell in exact if cell.verdict == "honoured")
        asked = sum(cell.requests for cell in exact)
        lines.append(f"{right:,}/{asked:,} requests in chains whose every token is predicted")
    return lines + [
        f"{server.name}, {cell.name}: {cell.evidence}"
        for server in report.servers
        for cell in server.of("speed")
    ]


def tone(cell: ServerCell | None) -> doc.Tone:
    """Return the colour of a cell."""
    if cell is None or cell.verdict == "skipped":
        return "quiet"
    if not cell.met:
        return "bad"
    return "good" if cell.verdict == "honoured" and not cell.silent else "fair"


def evidence_of(cell: ServerCell) -> str:
    """Return what shows the verdict of a cell."""
    silent = f"; taken in silence: {', '.join(cell.silent)}" if cell.silent else ""
    return f"{cell.evidence}{silent}{'; known' if cell.known else ''}"


def _table(report: ServersReport) -> doc.Table:
    rows: doc.Rows = [
        [_name(name), *(_cell(server, name) for server in report.servers)]
        for name in report.names("parameter")
    ]
    return doc.Table(
        "Honoured: it has the documented effect, none where it is off, and the documented default.",
        ["Parameter", *(_name(server.name) for server in report.servers)],
        rows,
        style="sticky",
    )


def _name(name: str) -> doc.Name:
    return doc.Name(one_line(name, 60))


def _cell(server: CheckedServer, name: str) -> doc.TableCell:
    cell = server.cell("parameter", name)
    link = doc.Link(cell.verdict, f"#{_place(server, cell)}") if cell else ""
    return doc.judged(link, tone(cell))


def _place(server: CheckedServer, cell: ServerCell) -> str:
    return anchor(server.name, server.bundle, cell.group, cell.name)


def _server(server: CheckedServer) -> Iterator[doc.Block]:
    """Yield the first that are wrong; folded, what else is wrong and all that is right."""
    wrong = server.wrong
    yield doc.Heading(2, _name(server.name), anchor(server.name, server.bundle))
    about = f"{server.version}, dialect {server.dialect}"
    yield doc.InHtml([doc.Paragraph(about, "quiet")])
    if wrong:
        caption = "Not as required: what shows it, and the request again."
        yield _evidence(server, caption, wrong[:MOST])
    parts = {"More that is not as required": wrong[MOST:], "Parameters": server.of("parameter")}
    parts |= {title: server.of(group) for group, title in GROUPS.items()}
    for title, cells in parts.items():
        shown = [cell for cell in cells if cell not in wrong or title.startswith("More")]
        if shown:
            table = _evidence(server, "The evidence, and the request that repeats it.", shown)
            yield doc.Fold(f"{title}: {len(shown)}", [table], markdown=True)


def _evidence(server: CheckedServer, caption: str, cells: Sequence[ServerCell]) -> doc.Table:
    rows: doc.Rows = []
    for cell in cells:
        parts: list[doc.Inline] = [doc.Untrusted(evidence_of(cell), 400)]
        got = doc.Untrusted(f"got {one_line(cell.got, 200)}")
        parts += [doc.Toned(got, "quiet")] if cell.got else []
        parts += [doc.Code(one_line(cell.curl, 1200), 1200)] if cell.curl else []
        verdict = doc.judged(cell.verdict, tone(cell))
        wide = doc.TableCell(doc.Lines(parts), kind="wide")
        rows.append(doc.TableRow([_name(cell.name), verdict, wide], _place(server, cell)))
    return doc.Table(caption, "Name | Verdict | Evidence", rows, style="stacked")
