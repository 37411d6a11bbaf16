"""Hardware configurations: what backends decoded and generated, as tables.

Figures of a configuration are against the first backend of its bundle. Configurations of other
bundles are compared with the first of all in two ways: by the digests of their logits, which are
equal if all bits are, and by the rows that the bundles keep.
"""

from collections.abc import Iterator, Sequence

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.logits import (
    DecodeResult,
    LogitsFigures,
    divergence,
    largest_difference,
)
from sampler_parity.harness.comparison.columns import kept_rows
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, figure, share_of


class Configuration(Strict):
    """A backend on its device, compared with the first of its bundle.

    compared: prompts that have figures, of `prompts`; equal: those whose logits are equal to the
    bit. top1: of `rows` positions. difference: largest absolute of two logits. kl_*: in nats.
    parted: texts that leave the first's, of `texts`; earliest: the step of the first to do so.
    """

    bundle: str
    backend: str
    device: str
    machine: str
    unavailable: str
    first: str
    prompts: int
    compared: int
    equal: int
    rows: int
    top1: int
    difference: float | None
    kl_max: float | None
    kl_mean: float | None
    failed: str
    texts: int
    parted: int
    earliest: int | None


class PartedText(Strict):
    """A text that leaves the first backend's at `step`; see harness.bundle.records.Parted."""

    bundle: str
    backend: str
    case: str
    verdict: Verdict
    first_verdict: Verdict
    step: int
    token: int
    first_token: int
    margin: float | None
    difference: float | None
    replay: str


class Across(Strict):
    """A configuration compared with the first of another bundle. The figures are of `kept` rows."""

    bundle: str
    backend: str
    base: str
    prompts: int
    equal: int
    kept: int
    top1: int
    difference: float | None
    kl_max: float | None


class DevicesSection(Strict):
    configurations: list[Configuration]
    parted: list[PartedText]
    across: list[Across]


def devices(bundles: list[Bundle], names: list[str]) -> DevicesSection | None:
    """Return None where no bundle decoded prompts and none holds texts of two backends.

    names: of the bundles, fit to be shown. Raises InputError for a kept row that is missing or
    malformed.
    """
    parts = [
        (name, bundle)
        for bundle, name in zip(bundles, names, strict=True)
        if bundle.of(DecodeResult) or _texts(bundle)
    ]
    if not parts:
        return None
    decoded = [(name, bundle) for name, bundle in parts if bundle.of(DecodeResult)]
    return DevicesSection(
        configurations=[
            _configuration(name, bundle, backend, info)
            for name, bundle in parts
            for backend, info in bundle.info.backends.items()
        ],
        parted=[text for name, bundle in parts for text in _parted(name, bundle)],
        across=[row for name, bundle in decoded[1:] for row in _across(decoded[0], name, bundle)],
    )


def _first(bundle: Bundle) -> str:
    """Return the backend that the others are compared with: the first that ran."""
    return next(name for name, info in bundle.info.backends.items() if not info.unavailable)


def _texts(bundle: Bundle) -> list[CaseResult]:
    """Return the generations of two backends or more."""

    def several(case: CaseResult) -> bool:
        return sum(bool(got.text_sha256) for got in case.backends.values()) > 1

    return [*bundle.cases.where(several)]


def _configuration(name: str, bundle: Bundle, backend: str, info: BackendInfo) -> Configuration:
    decodings = [(d, d.backends[backend]) for d in bundle.of(DecodeResult) if backend in d.backends]
    has = [(d, figures) for d, figures in decodings if figures.difference is not None]
    rows = sum(decoded.rows for decoded, _ in has)
    texts = [case.backends[backend] for case in _texts(bundle) if backend in case.backends]
    steps = [text.parted.step for text in texts if text.parted is not None]
    means = [(figures.kl_mean or 0.0) * decoded.rows for decoded, figures in has]
    return Configuration(
        bundle=name,
        backend=visible(backend),
        device=visible(info.device),
        machine=visible(bundle.info.machine.cpu),
        unavailable=visible(info.unavailable),
        first=visible(_first(bundle)),
        prompts=len(decodings),
        compared=len(has),
        equal=sum(figures.sha256 == d.backends[d.first].sha256 for d, figures in has),
        rows=rows,
        top1=sum(figures.top1 or 0 for _, figures in has),
        difference=max((figures.difference or 0.0 for _, figures in has), default=None),
        kl_max=max((figures.kl_max or 0.0 for _, figures in has), default=None),
        kl_mean=sum(means) / rows if rows else None,
        failed=visible(next((figures.failed for _, figures in decodings if figures.failed), "")),
        texts=sum(bool(text.text_sha256) for text in texts),
        parted=len(steps),
        earliest=min(steps, default=None),
    )


def _parted(name: str, bundle: Bundle) -> Iterator[PartedText]:
    first = _first(bundle)
    for case in _texts(bundle):
        for backend, result in case.backends.items():
            if result.parted is None:
                continue
            yield PartedText(
                bundle=name,
                backend=visible(backend),
                case=visible(case.id),
                verdict=result.verdict,
                first_verdict=case.backends[first].verdict,
                **result.parted.model_dump(),
                replay=visible(replay(bundle.info, case.suite, case.id, [first, backend])),
            )


def _across(base: tuple[str, Bundle], name: str, bundle: Bundle) -> Iterator[Across]:
    """Yield each configuration of a bundle, compared with the first of the base bundle."""
    base_name, first = base
    baseline = {(d.model_sha256, d.prompt_sha256): d for d in first.of(DecodeResult)}
    for backend in bundle.info.backends:
        pairs = [
            (baseline[key], result)
            for result in bundle.of(DecodeResult)
            if (key := (result.model_sha256, result.prompt_sha256)) in baseline
            and _has(baseline[key], _first(first))
            and _has(result, backend)
        ]
        both = [
            kept_rows((first.folder, a, _first(first)), (bundle.folder, b, backend))
            for a, b in pairs
            if a.kept and b.kept
        ]
        yield Across(
            bundle=name,
            backend=visible(backend),
            base=f"{base_name} {visible(_first(first))}",
            prompts=len(pairs),
            equal=sum(
                a.backends[_first(first)].sha256 == b.backends[backend].sha256 for a, b in pairs
            ),
            kept=len(both),
            top1=sum(int(a.argmax() == b.argmax()) for a, b in both),
            difference=max((largest_difference(a, b) for a, b in both), default=None),
            kl_max=max((float(divergence(a, b)[0]) for a, b in both), default=None),
        )


def _has(decoded: DecodeResult, backend: str) -> bool:
    return bool(decoded.backends.get(backend, LogitsFigures()).sha256)


def hardware(devices: DevicesSection) -> doc.Region:
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
        [_configuration_row(c) for c in devices.configurations],
        style="sticky",
    )
    heading = doc.Heading(2, "Hardware configurations", "devices")
    blocks: list[doc.Block] = [heading, doc.InHtml([doc.Paragraph(about)]), table]
    if devices.across:
        blocks += [doc.Heading(3, "Across bundles"), _across_table(devices.across)]
    if devices.parted:
        blocks += [doc.Heading(3, "Texts that part"), _parted_table(devices.parted)]
    else:
        blocks.append(doc.InHtml([doc.Heading(3, "Texts that part"), doc.Paragraph("None.")]))
    return doc.Region("devices", blocks)


def _configuration_row(c: Configuration) -> doc.Cells:
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


def _across_table(rows: Sequence[Across]) -> doc.Table:
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


def _parted_table(rows: Sequence[PartedText]) -> doc.Table:
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
