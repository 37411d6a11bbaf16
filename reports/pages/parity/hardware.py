"""Hardware configurations on the parity page, and where their texts part."""

from collections.abc import Sequence

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, figure, share_of
from sampler_parity.reports.pages.parity import model


def hardware(devices: model.DevicesSection) -> doc.Region:
    """Return the logits of hardware configurations, and where their texts part."""
    about = (
        "The results of every sampler on the logits of each configuration are in the tables of the "
        "bundles, by backend."
    )
    head = "Backend | Bundle | Equal prompts | Largest difference | KL, largest | KL, mean"
    table = doc.Table(
        "Logits of the same prompts on each configuration, against the first of its bundle. Equal: "
        "prompts whose logits are all equal to the bit. KL: divergence from the first, in nats, of "
        "a position. Parted: texts that leave the first configuration's.",
        f"{head} | Same top-1 | Parted texts | First at token | Device",
        [_configuration(c) for c in devices.configurations],
        style="sticky",
    )
    heading = doc.Heading(2, "Hardware configurations", "devices")
    blocks: list[doc.Block] = [heading, doc.InHtml([doc.Paragraph(about)]), table]
    if devices.across:
        blocks += [doc.Heading(3, "Across bundles"), _across(devices.across)]
    if devices.parted:
        blocks += [doc.Heading(3, "Texts that part"), _parted(devices.parted)]
    else:
        blocks.append(doc.InHtml([doc.Heading(3, "Texts that part"), doc.Paragraph("None.")]))
    return doc.Region("devices", blocks)


def _configuration(c: model.Configuration) -> doc.Cells:
    first = [doc.Toned("the first", "quiet")] if c.backend == c.first else []
    names: doc.Cells = [
        doc.Lines([doc.Name(c.backend), *first]),
        doc.TableCell(doc.Name(c.bundle), kind="keep"),
    ]
    if c.unavailable:
        gone = ("does not run here: ", doc.Name(c.unavailable))
        return [*names, doc.TableCell(gone, kind="text", span=8)]
    equal: list[doc.Inline] = [share_of(c.equal, c.compared)]
    if c.compared < c.prompts:
        equal.append((f"{c.prompts - c.compared:,} without figures ", doc.Name(c.failed)))
    return [
        *names,
        doc.num(doc.Lines(equal)),
        *(doc.num(figure(value)) for value in (c.difference, c.kl_max, c.kl_mean)),
        *(doc.num(share_of(*pair)) for pair in ((c.top1, c.rows), (c.parted, c.texts))),
        doc.num("none" if c.earliest is None else f"{c.earliest + 1}"),
        doc.TableCell(
            (doc.Name(device_label(c.device)), ", on ", doc.Name(c.machine)), kind="wide"
        ),
    ]


def _across(rows: Sequence[model.Across]) -> doc.Table:
    cells: doc.Rows = [
        [
            doc.Name(a.backend),
            doc.TableCell(doc.Name(a.bundle), kind="keep"),
            *(doc.num(share_of(n, a.prompts)) for n in (a.equal, a.kept)),
            *(doc.num(figure(value)) for value in (a.difference, a.kl_max)),
            doc.num(share_of(a.top1, a.kept)),
        ]
        for a in rows
    ]
    head = "Backend | Bundle | Equal prompts | Rows kept | Largest difference | KL, largest"
    return doc.Table(
        f"Configurations of the other bundles compared with {rows[0].base}, on the prompts and "
        "model that both have. Equal: by digest of all logits. The figures are of the rows that "
        "both bundles keep, the logits after the whole prompt.",
        f"{head} | Same top-1",
        cells,
    )


def _parted(rows: Sequence[model.PartedText]) -> doc.Table:
    cells: doc.Rows = []
    for p in rows:
        numbers = [f"{n:,}" for n in (p.step + 1, p.token, p.first_token)]
        numbers += [figure(p.margin), figure(p.difference)]
        verdicts = doc.TableCell(f"{p.verdict}, the first {p.first_verdict}", kind="keep")
        names = [doc.Name(p.case), doc.Name(p.backend)]
        cells.append([*names, *map(doc.num, numbers), verdicts, doc.Code(p.replay)])
    return doc.Table(
        "First differences of texts. Margin: how much the logits of the first prefer its token. "
        "Difference: the largest of two logits at that token. Verdicts: each text against the "
        "reference on its own logits.",
        "Case | Backend | At token | Drawn | By the first | Margin | Difference | Verdicts | "
        "Replay",
        cells,
        most=20,
        what="texts part",
    )
