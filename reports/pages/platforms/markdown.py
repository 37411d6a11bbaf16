"""The platforms page as Markdown: platform x sampler, then what makes each difference."""

from collections.abc import Iterator

from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.pages.platforms import labels as words
from sampler_parity.reports.pages.platforms.build import headlines
from sampler_parity.reports.pages.platforms.model import Column, PlatformsReport
from sampler_parity.reports.writers.markdown import fitting, table


def markdown(report: PlatformsReport) -> str:
    return fitting("\n".join(_lines(report, everything)) + "\n" for everything in (True, False))


def _lines(report: PlatformsReport, everything: bool) -> Iterator[str]:
    """everything: also the small cases."""
    yield "# Platforms"
    yield ""
    yield from (f"- {line}" for line in headlines(report))
    yield ""
    yield f"Beside {code(report.here)}: what differs worst, and how many are alike."
    yield ""
    rows = [[code(p.name), words.run(p), *_levels(report, p)] for p in report.platforms]
    yield from table(["platform", "rests on", *map(code, report.samplers)], rows)
    for platform in report.platforms:
        yield from _platform(platform, everything)


def _levels(report: PlatformsReport, platform: Column) -> Iterator[str]:
    for sampler in report.samplers:
        cell = platform.cell(sampler)
        yield words.level(cell) if cell else ""


def _platform(platform: Column, everything: bool) -> Iterator[str]:
    yield ""
    yield f"## {code(platform.name)}"
    yield ""
    yield f"{platform.words}. {words.run(platform)}."
    if platform.unknown:
        yield f"Not known: {'; '.join(platform.unknown)}."
    yield ""
    head = ["sampler", "bits", "order", "survivors", "tokens", "texts", "real builds"]
    yield from table(
        head,
        [
            [
                code(cell.sampler) if cell.sampler else "all",
                words.of(cell.bits, cell.cases),
                words.of(cell.order, cell.cases),
                words.of(cell.survivors, cell.cases),
                words.of(cell.tokens, cell.drawing),
                words.texts(cell),
                words.of(cell.identical, cell.judged),
            ]
            for cell in [platform.whole, *platform.parting]
        ],
    )
    yield ""
    for cell in platform.parting:
        for operation in cell.operations:
            yield f"- {code(cell.sampler)}: {operation.cases:,} by {safe(operation.words, 300)}"
            if everything:
                values = f"{code(operation.here)}, there {code(operation.there)}"
                yield f"  - {safe(operation.what, 80)}: here {values}"
                if operation.smaller:
                    yield f"  - {code(operation.smaller, 700)}"
                yield f"  - {code(operation.replay, 400)}"
