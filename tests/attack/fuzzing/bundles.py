"""Bundles, their reports, their arrays, the history, and policies that judge them."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path

from sampler_parity.harness.bundle.bundle import read, read_finished
from sampler_parity.harness.comparison import history
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.explain import explanation
from sampler_parity.harness.gate.gate import gate
from sampler_parity.harness.gate.labels import markdown, terminal_lines
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.reports.page import ReadyPage, summary_lines
from sampler_parity.reports.pages.compare.compare_page import COMPARE
from sampler_parity.reports.pages.history import HISTORY
from sampler_parity.reports.write import FORMATS, write_report
from tests.attack.fuzzing.files import sampled
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import BINARY, JSON, TEXT, cell, member
from tests.support.filled import filled_bundle

_CASE = "CaseResult.id"
_TODAY = date(2026, 11, 22)
_KNOWN = {"BackendInfo.reference": "v0.5.0", "RunInfo.started": "2026-01-01T00:00:00+00:00"}


def _plain(place: str) -> str:
    return _KNOWN.get(place, place)


def _written(folder: Path) -> Path:
    """Write a bundle next to the file.

    Its footer has no digest, which would refuse every change.
    """
    filled_bundle(folder / "bundle", _plain)
    results = folder / "bundle" / "results.jsonl"
    *lines, footer = results.read_text().splitlines()
    assert '"kind":"footer"' in footer
    closed = '{"kind":"footer","cases":1,"steps":1,"wall_s":1.0,"cells":1,"skip_ratios":1}'
    results.write_text("\n".join([*lines, closed]) + "\n")
    return folder / "bundle"


def _in_bundle(name: str) -> Callable[[Path], list[bytes]]:
    """Return a function that prepares one sample: this file of the bundle next to it."""

    def prepare(folder: Path) -> list[bytes]:
        bundle = _written(folder)
        return [(bundle / name).read_bytes()]

    return prepare


def _put(path: Path, name: str) -> Path:
    """Return the bundle next to the file, after replacing its file `name` by this one."""
    bundle = path.parent / "bundle"
    (bundle / name).write_bytes(path.read_bytes())
    return bundle


def _explain(bundle: Path) -> None:
    for case in read(bundle).cases[:2]:
        list(explanation(bundle, case.id))


def _pages(bundle: Path) -> None:
    """Write every report format and the summary of a run."""
    write_report([bundle], bundle.parent / "report", list(FORMATS))
    summary_lines(read_finished(bundle))


def _gate(bundle: Path) -> None:
    judged = read_finished(bundle)
    outcome = gate(judged, read_policy(None), judged, _TODAY)
    list(terminal_lines(outcome))
    markdown(outcome)
    outcome.model_dump_json()


def _compare(bundle: Path) -> None:
    other = bundle.parent / "bundle-other"
    if not other.exists():
        filled_bundle(other, _plain)
    _texts(COMPARE.made([read_finished(bundle), read_finished(other)]))


def _history(bundle: Path) -> None:
    database = bundle.parent / "h.sqlite"
    database.unlink(missing_ok=True)
    history.add(database, [bundle])
    _texts(HISTORY.made(database))


def _texts(made: ReadyPage | None) -> None:  # type: ignore[type-arg]
    if made is not None:
        for name in ("json", "md", "html"):
            made.text(name)
        assert made.terminal_lines is not None


def _policy(folder: Path) -> list[bytes]:
    _written(folder)
    return sampled("policy.toml", "subject.toml")(folder)


def _judged(path: Path) -> None:
    """Apply a policy to a bundle."""
    bundle = read_finished(path.parent / "bundle")
    outcome = gate(bundle, read_policy(path), bundle, _TODAY)
    list(terminal_lines(outcome))
    markdown(outcome)


def _database(folder: Path) -> list[bytes]:
    database = folder / "made.sqlite"
    history.add(database, [_written(folder)])
    return [database.read_bytes()]


def _read_history(path: Path) -> None:
    with suppress(InputError):
        history.add(path, [path.parent / "bundle"])
    _texts(HISTORY.made(path))


_RESULTS, _INFO = "results.jsonl", "run.json"
_STAGE = f"artifacts/{_CASE}.first.npz"
_ROW = "artifacts/DecodeResult.id.first.npy"


def _bundle_rows() -> list[Fuzzed]:
    uses: dict[str, tuple[Callable[[Path], None], int]] = {
        "explain": (_explain, 30),
        "report": (_pages, 1),
        "gate": (_gate, 30),
        "compare": (_compare, 2),
        "history": (_history, 1),
    }
    return [
        Fuzzed(
            f"{file} into {use}",
            "changed",
            _in_bundle(file),
            lambda path, reads=reads, file=file: reads(_put(path, file)),  # type: ignore[misc]
            JSON,
            weight,
        )
        for use, (reads, weight) in uses.items()
        for file in (_RESULTS, _INFO)
    ]


INPUTS = [
    *_bundle_rows(),
    Fuzzed(
        "arrays of a difference",
        "changed",
        _in_bundle(_STAGE),
        lambda path: _explain(_put(path, _STAGE)),
        (*BINARY, *[member] * 4),
        30,
    ),
    Fuzzed(
        "kept row", "changed", _in_bundle(_ROW), lambda path: _compare(_put(path, _ROW)), BINARY, 2
    ),
    Fuzzed("history", "h.sqlite", _database, _read_history, (*BINARY, *[cell] * 6), 4),
    Fuzzed("policy on a bundle", "gate.toml", _policy, _judged, TEXT, 40),
]
