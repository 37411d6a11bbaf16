"""Hardware configurations: from what backends decoded and generated to tables.

Figures of a configuration are against the first backend of its bundle. Configurations of other
bundles are compared with the first of all in two ways: by the digests of their logits, which are
equal if all bits are, and by the rows that the bundles keep.
"""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.logits.compare import divergence, largest_difference
from sampler_parity.harness.checks.logits.record import DecodeResult, LogitsFigures
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.comparison.kept_rows import kept_rows
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.parity import model


def devices(bundles: list[Bundle], sections: list[model.Section]) -> model.DevicesSection | None:
    """Return None where no bundle decoded prompts and none holds texts of two backends. Raises
    InputError for a kept row that is missing or malformed."""
    parts = [
        (section.bundle, bundle)
        for bundle, section in zip(bundles, sections, strict=True)
        if bundle.decodings or _texts(bundle)
    ]
    if not parts:
        return None
    decoded = [(name, bundle) for name, bundle in parts if bundle.decodings]
    return model.DevicesSection(
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


def _configuration(
    name: str, bundle: Bundle, backend: str, info: BackendInfo
) -> model.Configuration:
    decodings = [(d, d.backends[backend]) for d in bundle.decodings if backend in d.backends]
    has = [(d, figures) for d, figures in decodings if figures.difference is not None]
    rows = sum(decoded.rows for decoded, _ in has)
    texts = [case.backends[backend] for case in _texts(bundle) if backend in case.backends]
    steps = [text.parted.step for text in texts if text.parted is not None]
    means = [(figures.kl_mean or 0.0) * decoded.rows for decoded, figures in has]
    return model.Configuration(
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


def _parted(name: str, bundle: Bundle) -> Iterator[model.PartedText]:
    first = _first(bundle)
    for case in _texts(bundle):
        for backend, result in case.backends.items():
            if result.parted is None:
                continue
            yield model.PartedText(
                bundle=name,
                backend=visible(backend),
                case=visible(case.id),
                verdict=result.verdict,
                first_verdict=case.backends[first].verdict,
                **result.parted.model_dump(),
                replay=visible(replay(bundle.info, case.suite, case.id, [first, backend])),
            )


def _across(base: tuple[str, Bundle], name: str, bundle: Bundle) -> Iterator[model.Across]:
    """Yield each configuration of a bundle, compared with the first of the base bundle."""
    base_name, first = base
    wanted = {(d.model_sha256, d.prompt_sha256): d for d in first.decodings}
    for backend in bundle.info.backends:
        pairs = [
            (wanted[key], other)
            for other in bundle.decodings
            if (key := (other.model_sha256, other.prompt_sha256)) in wanted
            and _has(wanted[key], _first(first))
            and _has(other, backend)
        ]
        both = [
            kept_rows((first.folder, a, _first(first)), (bundle.folder, b, backend))
            for a, b in pairs
            if a.kept and b.kept
        ]
        yield model.Across(
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
