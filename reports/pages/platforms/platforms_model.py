"""The model of the platforms page: predictions, and the builds that confirm them.

A case counts for the sampler at which it first differs; for all of its chain if it does not. A
build counts if it was judged by the reference of its own platform: `--reference own`.
reports/schemas/platforms.schema.json is made of PlatformsReport.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import (
    Apart,
    BackendResult,
    CaseResult,
    PartingResult,
    PredictionResult,
)
from sampler_parity.harness.failures.groups import counts_for
from sampler_parity.harness.processes import shell
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.reference.chronology import parted
from sampler_parity.reference.platforms import DEFAULT, PLATFORMS, Platform

TEXTS = "texts"  # of suites/
LONGEST = 600  # characters of a small case
_NO_PART = ("name", "words", "unknown")


class Operation(Strict):
    """Operations that make cases differ at a sampler, in words; each of them does it alone.

    case: an example.
    smaller: the example minimized, with its first difference and the two values.
    replay: the command that predicts the example again.
    """

    words: str
    cases: int
    case: str
    smaller: str
    what: str
    here: str
    there: str
    replay: str


class PlatformCell(Strict):
    """A sampler on a platform.

    cases: those that are evidence for it. So many of these have the same bits, order and survivors,
    and so many of `drawing` the same tokens.
    texts: long ones on a model's logits. same_texts: equal to the end. token: the first that
    differs in any.
    judged: cases that ran on real builds; so many of these are identical to the prediction.
    """

    sampler: str
    cases: int
    bits: int
    order: int
    survivors: int
    drawing: int
    tokens: int
    texts: int
    same_texts: int
    token: int | None
    judged: int
    identical: int
    operations: list[Operation]


class PlatformBuild(Strict):
    """A real build of a platform that was asked. met: cases that are as required."""

    name: str
    build: str
    bundle: str
    judged: int
    identical: int
    met: int


class Column(Strict):
    """A platform. row: what decides its bits, by part. unknown: what the reference does not have of
    it. whole: of all samplers together."""

    name: str
    words: str
    row: dict[str, str]
    unknown: list[str]
    builds: list[PlatformBuild]
    whole: PlatformCell
    cells: list[PlatformCell]

    @property
    def parting(self) -> list[PlatformCell]:
        """The samplers that part a case there."""
        return [cell for cell in self.cells if cell.bits < cell.cases]

    def cell(self, sampler: str) -> PlatformCell | None:
        return next((cell for cell in self.cells if cell.sampler == sampler), None)


class PlatformsReport(Strict):
    """here: the platform to compare the others with. steady: samplers without a difference."""

    schema_version: Literal[1] = 1
    kind: Literal["platforms"] = "platforms"
    ok: bool | None
    here: str
    cases: int
    texts: int
    samplers: list[str]
    steady: list[str]
    platforms: list[Column]

    @property
    def builds(self) -> list[PlatformBuild]:
        return [build for platform in self.platforms for build in platform.builds]


Judged = list[tuple[CaseResult, str]]  # a case, and the backend that it was asked of


def report_of(bundles: list[Bundle]) -> PlatformsReport | None:
    """Return None where nothing was predicted."""
    predictions = {(p.suite, p.id): p for bundle in bundles for p in bundle.of(PredictionResult)}
    if not predictions:
        return None
    names = dict.fromkeys(name for p in predictions.values() for name in p.platforms)
    small = [parting for bundle in bundles for parting in bundle.of(PartingResult)]
    columns = [_column(name, [*predictions.values()], small, bundles) for name in names]
    builds = [build for column in columns for build in column.builds]
    tried = {cell.sampler for column in columns for cell in column.cells}
    parting = {cell.sampler for column in columns for cell in column.parting}
    return PlatformsReport(
        ok=all(build.met == build.judged for build in builds) if builds else None,
        here=DEFAULT,
        cases=len(predictions),
        texts=sum(_is_text(p) for p in predictions.values()),
        samplers=sorted(parting),
        steady=sorted(tried - parting),
        platforms=columns,
    )


def _is_text(prediction: PredictionResult) -> bool:
    return prediction.suite.partition("/")[0] == TEXTS


def _column(
    name: str,
    everything: Sequence[PredictionResult],
    small: Sequence[PartingResult],
    bundles: Sequence[Bundle],
) -> Column:
    predictions = [p for p in everything if name in p.platforms]
    by_sampler: dict[str, list[PredictionResult]] = defaultdict(list)
    for prediction in predictions:
        difference = prediction.apart.get(name)
        for sampler in [difference.sampler] if difference else prediction.samplers:
            by_sampler[sampler].append(prediction)
    builds, judged = _confirmed(name, bundles)
    of_sampler: dict[str, Judged] = defaultdict(list)
    for case, backend in judged:
        for sampler in counts_for(case, backend):
            of_sampler[sampler].append((case, backend))
    platform = PLATFORMS.get(name)
    return Column(
        name=visible(name),
        words=platform.words if platform else "",
        row=_row(platform) if platform else {},
        unknown=[what for _, what in platform.unknown] if platform else [],
        builds=builds,
        whole=_cell(name, "", predictions, judged, small),
        cells=[
            _cell(name, sampler, by_sampler[sampler], of_sampler[sampler], small)
            for sampler in sorted(by_sampler)
        ],
    )


def _row(platform: Platform) -> dict[str, str]:
    parts = [part.name for part in fields(Platform) if part.name not in _NO_PART]
    return {part: str(getattr(platform, part)) for part in parts}


def _confirmed(name: str, bundles: Sequence[Bundle]) -> tuple[list[PlatformBuild], Judged]:
    """Return the builds of a platform that were judged by its reference, and all their cases."""
    builds, everything = [], []
    for bundle in bundles:
        for backend, info in bundle.info.backends.items():
            if info.unavailable or name == DEFAULT or parted(info.reference)[1] != name:
                continue
            cases = [c for c in bundle.cases if backend in c.backends and not c.skipped(backend)]
            if cases:
                everything += [(case, backend) for case in cases]
                builds.append(
                    PlatformBuild(
                        name=visible(backend),
                        build=visible(info.build),
                        bundle=visible(bundle.folder.resolve().name),
                        judged=len(cases),
                        identical=sum(_identical(c.backends[backend]) for c in cases),
                        met=sum(case.met(backend) for case in cases),
                    )
                )
    return builds, everything


def _identical(got: BackendResult) -> bool:
    return got.verdict == "identical"


def _cell(
    platform: str,
    sampler: str,
    predictions: Sequence[PredictionResult],
    judged: Judged,
    small: Sequence[PartingResult],
) -> PlatformCell:
    """Return a cell. sampler: "" for all samplers."""
    differences = [d for p in predictions if (d := p.apart.get(platform))]
    drawing = [p for p in predictions if p.draws]
    texts = [p for p in drawing if _is_text(p)]
    turned = [(p, a) for p in drawing if (a := p.apart.get(platform)) and a.tokens is False]
    of_texts = [a.token for p, a in turned if _is_text(p)]
    return PlatformCell(
        sampler=visible(sampler),
        cases=len(predictions),
        bits=len(predictions) - len(differences),
        order=len(predictions) - sum(not d.order for d in differences),
        survivors=len(predictions) - sum(not d.survivors for d in differences),
        drawing=len(drawing),
        tokens=len(drawing) - len(turned),
        texts=len(texts),
        same_texts=len(texts) - len(of_texts),
        token=min((token for token in of_texts if token is not None), default=None),
        judged=len(judged),
        identical=sum(_identical(case.backends[backend]) for case, backend in judged),
        operations=[*_operations(platform, predictions, small)] if sampler else [],
    )


def _operations(
    platform: str, predictions: Sequence[PredictionResult], small: Sequence[PartingResult]
) -> Iterator[Operation]:
    """Yield what parts cases, by the most first."""
    ways: dict[tuple[str, ...], list[PredictionResult]] = defaultdict(list)
    for prediction in predictions:
        if difference := prediction.apart.get(platform):
            ways[tuple(difference.operations)].append(prediction)
    for operations, members in sorted(ways.items(), key=lambda item: (-len(item[1]), item[0])):
        sampler = members[0].apart[platform].sampler
        example = next(
            (
                p
                for p in small
                if (p.sampler, tuple(p.operations)) == (sampler, operations)
                and platform in p.platforms
            ),
            None,
        )
        case, difference = members[0].id, members[0].apart[platform]
        if example is not None:
            case, difference = example.case, example.platforms[platform]
        yield _operation(platform, operations, len(members), case, difference, example)


def _operation(
    platform: str,
    operations: Sequence[str],
    cases: int,
    case: str,
    difference: Apart,
    example: PartingResult | None,
) -> Operation:
    smaller = json.dumps(example.smaller) if example else ""
    return Operation(
        words=visible("; ".join(operations) or "several operations together"),
        cases=cases,
        case=visible(case),
        smaller=visible(one_line(smaller, LONGEST)),
        what=visible(difference.what),
        here=visible(one_line(difference.here, LONGEST)),
        there=visible(one_line(difference.there, LONGEST)),
        replay=visible(shell.join(["sampler-parity", "predict", case, "--platform", platform])),
    )
