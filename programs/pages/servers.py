"""What does each server do with each parameter?

The page has a table of parameters by server, then the evidence and the request of each.
programs/schemas/servers.schema.json is made of ServersReport.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import ServerVerdict
from sampler_parity.programs.servers.server_record import Group, ServerResult
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import JunitTest
from sampler_parity.reports.labels import state_of
from sampler_parity.reports.page import Page, PageFinding, PageSummary, anchor
from sampler_parity.reports.parts import state

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
    "endpoint": "Further paths",
    "tools": "Tools",
    "speed": "Speed",
}


class ServerCell(Strict):
    """The behaviour of a server for a parameter or a fact. known: a verdict that is required
    although it is not the right one. cause: the id of the result that a failure relies on.
    """

    server: str
    name: str
    group: Group
    verdict: ServerVerdict
    met: bool
    known: bool
    evidence: str
    cause: str
    silent: list[str]
    got: str
    curl: str
    requests: int
    tokens: int
    figures: dict[str, float]


class CheckedServer(Strict):
    """A server of a bundle. started: when its check was."""

    name: str
    dialect: str
    version: str
    bundle: str
    started: str
    cells: list[ServerCell]

    @property
    def wrong(self) -> list[ServerCell]:
        """Return the cells that are not as required, causes first."""
        wrong = [cell for cell in self.cells if not cell.met and cell.verdict != "skipped"]
        return sorted(wrong, key=lambda cell: cell.cause != "")

    def of(self, group: Group) -> list[ServerCell]:
        return [cell for cell in self.cells if cell.group == group]

    def cell(self, group: Group, name: str) -> ServerCell | None:
        return next((c for c in self.cells if (c.group, c.name) == (group, name)), None)


class ServersReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["servers"] = "servers"
    ok: bool
    servers: list[CheckedServer]

    @property
    def judged(self) -> list[ServerCell]:
        cells = [cell for server in self.servers for cell in server.cells]
        return [cell for cell in cells if cell.verdict != "skipped"]

    def names(self, group: Group) -> list[str]:
        """Return the names over all servers, in their order."""
        return [*dict.fromkeys(cell.name for s in self.servers for cell in s.of(group))]


def report_of(bundles: list[Bundle]) -> ServersReport | None:
    """Return None where no server was checked."""
    servers = [_checked(bundle) for bundle in bundles if bundle.of(ServerResult)]
    if not servers:
        return None
    judged = [cell for server in servers for cell in server.cells if cell.verdict != "skipped"]
    return ServersReport(ok=bool(judged) and all(c.met for c in judged), servers=servers)


def _checked(bundle: Bundle) -> CheckedServer:
    name = bundle.of(ServerResult)[0].server
    about = bundle.backend(name)
    return CheckedServer(
        name=visible(name),
        dialect=visible(about.name),
        version=visible(about.version),
        bundle=visible(bundle.folder.resolve().name),
        started=visible(bundle.info.started),
        cells=[_judged(result) for result in bundle.of(ServerResult)],
    )


def _judged(result: ServerResult) -> ServerCell:
    fields = result.model_dump(exclude={"kind", "id", "required", "sent"})
    accepted = result.met and result.verdict in ("other meaning", "error")
    return ServerCell(**visible(fields), met=result.met, known=accepted)


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
    evidence = [block for server in report.servers for block in _details(server)]
    return doc.Document(
        title, "Servers", [doc.Paragraph(INTRO)], [*above, _table(report), *evidence]
    )


def headlines(report: ServersReport) -> list[str]:
    """Return what the report comes to, a line each."""
    met = sum(cell.met for cell in report.judged)
    lines = [f"{met:,}/{len(report.judged):,} as required on {len(report.servers):,} servers"]
    if exact := [cell for cell in report.judged if cell.group == "exact"]:
        right = sum(cell.requests for cell in exact if cell.verdict == "honoured")
        total = sum(cell.requests for cell in exact)
        lines.append(f"{right:,}/{total:,} requests in chains whose every token is predicted")
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
    cause = f"; relies on {cell.cause}" if cell.cause else ""
    return f"{cell.evidence}{silent}{cause}{'; known' if cell.known else ''}"


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


def _details(server: CheckedServer) -> Iterator[doc.Block]:
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
        listed = [cell for cell in cells if cell not in wrong or title.startswith("More")]
        if listed:
            table = _evidence(server, "The evidence, and the request that repeats it.", listed)
            yield doc.Fold(f"{title}: {len(listed)}", [table], markdown=True)


def _evidence(server: CheckedServer, caption: str, cells: Sequence[ServerCell]) -> doc.Table:
    rows: doc.Rows = []
    for cell in cells:
        parts: list[doc.Inline] = [doc.Untrusted(evidence_of(cell), 400)]
        got = doc.Untrusted(f"got {one_line(cell.got, 200)}")
        parts += [doc.Toned(got, "quiet")] if cell.got else []
        parts += [doc.Code(one_line(cell.curl, 1200), 1200)] if cell.curl else []
        verdict = doc.judged(cell.verdict, tone(cell))
        evidence = doc.TableCell(doc.Lines(parts), kind="wide")
        rows.append(doc.TableRow([_name(cell.name), verdict, evidence], _place(server, cell)))
    return doc.Table(caption, "Name | Verdict | Evidence", rows, style="stacked")


def summary(report: ServersReport) -> PageSummary:
    """Return its headlines, and what is wrong or known to be."""
    lines = headlines(report)
    findings = [
        PageFinding(
            text=f"{server.name}: {cell.name}: {cell.verdict}: {cell.evidence}",
            anchor=anchor(server.name, server.bundle, cell.group, cell.name),
            fails=not cell.met,
        )
        for server in report.servers
        for cell in server.cells
        if cell.verdict != "skipped" and (cell.known or not cell.met)
    ]
    printed = [f"server   {line}" for line in lines]
    return PageSummary(report.ok, lines, lines=printed, findings=findings)


def junit_tests(report: ServersReport) -> Iterator[JunitTest]:
    """Yield a test for every parameter and fact of each server."""
    for server in report.servers:
        for cell in server.cells:
            suite = f"{server.bundle}: {server.name}"
            test = JunitTest(suite, server.started, cell.name, cell.group)
            if cell.verdict == "skipped":
                yield test.ended("skipped", cell.verdict, cell.evidence)
            elif not cell.met:
                yield test.ended("failure", cell.verdict, evidence_of(cell), cell.curl)
            else:
                yield test


SERVERS = Page[list[Bundle], ServersReport](
    stem="servers",
    title="Servers",
    answers="What does each server do with each parameter?",
    model=ServersReport,
    build=report_of,
    document=document,
    summary=summary,
    junit_tests=lambda _, report: junit_tests(report),
    missed=False,
)
