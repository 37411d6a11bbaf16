"""A fuzz campaign: run chunks of generated cases on an executor until the time is over.

The folder of a campaign is its corpus. `chunks.jsonl` has a header (seed, backends) and a line with
the findings and the outcome classes of each finished chunk. The seed, the number of a chunk and the
classes seen before generate it, so a killed campaign continues with `--resume`. `findings.toml` is
a suite: each finding, minimized, is a case. The caller of `begin` keeps the folder locked until the
campaign ends.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.context import Executor, Terms
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.stages.blocks.campaign import chunk
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.counterexample import DIFFERENCES, looks
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.protocol.messages import numbers, plain
from sampler_parity.harness.run.judging import run_portion, survived
from sampler_parity.harness.run.shrinking import small_of
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.suite.model import case_block

OF_A_CHUNK = 64  # findings that are minimized: 439 took 386 s
Small = dict[tuple[str, str], dict[str, Any] | None]  # by case and backend
_LONGEST_WAVE = 8  # tasks for each process; a chunk takes about a second
# Dask's scheduler feeds about 200 workers with tasks of one chunk; of 1,000 workers, only 97
# (docs/results/README.md). Tasks of larger clusters have more chunks.
_FED = 50


class Identity(Strict):
    """The identity of a campaign, which `--resume` must match. reference: as `run --reference`."""

    seed: int
    backends: list[str]
    version: str
    reference: str | None = None


class FuzzFinding(Strict):
    """case: minimized if possible; None if the process died: `stage` then has how it ended."""

    backend: str
    verdict: str
    stage: str
    case: dict[str, Any] | None


class Chunk(Strict):
    """A finished chunk. refused: cases that the reference did not take to their end. classes: cases
    by outcome class."""

    chunk: int
    cases: int
    steps: int
    refused: int
    seconds: float
    findings: list[FuzzFinding] = []
    classes: dict[str, int] = {}


class Campaign(Strict):
    """The contents of the folder of a campaign."""

    header: Identity
    chunks: list[Chunk] = []

    @property
    def steps(self) -> int:
        return sum(finished.steps for finished in self.chunks)

    @property
    def findings(self) -> list[FuzzFinding]:
        return [finding for finished in self.chunks for finding in finished.findings]

    @property
    def classes(self) -> Counter[str]:
        return sum((Counter(finished.classes) for finished in self.chunks), Counter())

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the chunks that are still to run."""
        finished = {chunk.chunk for chunk in self.chunks}
        number = 0
        while True:
            if number not in finished:
                yield number
            number += 1


def run_number(seed: int, number: int, terms: Terms, earlier: Set[str] = frozenset()) -> Chunk:
    """Run one chunk. earlier: outcome classes of the chunks before it."""
    start = time.perf_counter()
    cases, classes = chunk(seed, number, earlier)
    results = run_portion([CheckItem("fuzz", case) for case in cases.values()], terms, None)
    judged = [r for r in results if isinstance(r, CaseResult) and r.judged]
    small = _minimized(judged, cases, terms)
    return Chunk(
        chunk=number,
        cases=len(judged),
        steps=sum(result.steps for result in judged),
        refused=sum(bool(result.refusal) for result in judged),
        seconds=time.perf_counter() - start,
        findings=[f for result in judged for f in findings_of(cases[result.id], result, small)],
        classes=Counter(c for result in judged for c in sorted(classes[result.id])),
    )


def run_numbers(
    chunk_numbers: Sequence[int], seed: int, terms: Terms, earlier: Set[str]
) -> list[Chunk]:
    """Run chunks one after the other. An executor calls this."""
    return [run_number(seed, number, terms, earlier) for number in chunk_numbers]


def _chunks(
    header: Identity,
    tasks: list[list[int]],
    executor: Executor,
    timeout_s: float,
    earlier: Set[str],
) -> Iterator[Chunk]:
    """Yield the chunks of these tasks as they end. A task whose process died is run again chunk by
    chunk, to find the chunk that kills it."""
    terms = Terms(registry.references(header.backends, header.reference), timeout_s)
    for task, outcome in survived(executor, run_numbers, tasks, (header.seed, terms, earlier)):
        if isinstance(outcome, Died):
            died = FuzzFinding(backend="", verdict="crashed", stage=str(outcome), case=None)
            (number,) = task
            yield Chunk(chunk=number, cases=0, steps=0, refused=0, seconds=0, findings=[died])
        else:
            yield from outcome


def _minimized(judged: list[CaseResult], cases: dict[str, Case], terms: Terms) -> Small:
    """Return the first minimized cases, by case and backend."""
    small: Small = {}
    full = {registry.command_of(name)[0]: name for name in terms.backends}
    for result in judged:
        for backend, got in result.backends.items():
            if got.verdict in DIFFERENCES and not result.met(backend) and len(small) < OF_A_CHUNK:
                counterexample = small_of([cases[result.id]], full[backend], looks(got), terms)
                small[result.id, backend] = counterexample.smaller
    return small


def findings_of(case: Case, result: CaseResult, small: Small) -> Iterator[FuzzFinding]:
    """Yield the differences where the reference defines a result. small: some of them,
    minimized."""
    original = plain(case.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    for backend, got in result.backends.items():
        unasked = got.verdict == "rejected" and got.detail.startswith("not asked")  # undefined
        if got.verdict not in ("identical", "skipped") and not unasked:
            content = small.get((result.id, backend)) or original
            yield FuzzFinding(backend=backend, verdict=got.verdict, stage=got.stage, case=content)


def begin(
    folder: Path, seed: int | None, backends: list[str], resume: bool, reference: str | None = None
) -> Campaign:
    """Create a campaign, or resume the one in the folder. Raises InputError if that is another."""
    path, of_this = folder / "chunks.jsonl", version("sampler-parity")
    expected = Identity(seed=seed or 0, backends=backends, version=of_this, reference=reference)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(expected.model_dump_json() + "\n")
        return Campaign(header=expected)
    if not resume:
        raise InputError(folder, "holds a campaign", "use --resume, or choose another -o")
    campaign = read(folder)
    if seed is None:
        expected = expected.model_copy(update={"seed": campaign.header.seed})
    if expected != campaign.header:
        was = f"seed {campaign.header.seed}, {', '.join(campaign.header.backends)}"
        was += f" by {campaign.header.reference}" if campaign.header.reference else ""
        problem = f"holds another campaign: {was}, sampler-parity {campaign.header.version}"
        raise InputError(folder, problem, "choose another -o")
    return campaign


def read(folder: Path) -> Campaign:
    """Read a campaign. Raises InputError. Drops a truncated last line: its chunk runs again."""
    path = folder / "chunks.jsonl"
    try:
        # A killed run may leave a last line without its end: `rest`.
        *lines, rest = path.read_bytes().split(b"\n")
        header, *chunk_lines = lines
        campaign = Campaign(
            header=Identity.model_validate_json(header),
            chunks=[Chunk.model_validate_json(line) for line in chunk_lines],
        )
    except (OSError, ValueError, ValidationError):
        raise InputError(path, "is not a campaign", "choose another -o") from None
    if rest:
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    return campaign


@dataclass(frozen=True)
class Limits:
    """seconds: of the campaign; timeout_s: of a request."""

    seconds: float
    timeout_s: float


def go_on(
    campaign: Campaign,
    folder: Path,
    executor: Executor,
    limits: Limits,
    progress: Callable[[Campaign], object],
) -> None:
    """Run chunk after chunk for the given time; write each to the disk as it ends."""
    size = executor.size
    deadline, wave, remaining = time.monotonic() + limits.seconds, 1, campaign.numbers()
    a_task, classes = chunks_of_a_task(size), set(campaign.classes)
    with (folder / "chunks.jsonl").open("a") as file:
        while time.monotonic() < deadline:
            tasks = [[next(remaining) for _ in range(a_task)] for _ in range(size * wave)]
            before = frozenset(classes)
            for finished in _chunks(campaign.header, tasks, executor, limits.timeout_s, before):
                classes.update(finished.classes)
                file.write(finished.model_dump_json() + "\n")
                file.flush()
                campaign.chunks.append(finished)
                if finished.findings:
                    write_findings(campaign, folder / "findings.toml")
                progress(campaign)
            # The first waves are short, so that new outcome classes guide the next ones early.
            wave = min(2 * wave, _LONGEST_WAVE)


def chunks_of_a_task(size: int) -> int:
    """Return the number of chunks in a task, for an executor of so many processes."""
    return 1 + size // _FED


def write_findings(campaign: Campaign, path: Path) -> None:
    """Write all findings as a suite, which `sampler-parity run FILE` replays."""
    blocks = []
    for i, finding in enumerate(campaign.findings):
        if finding.case is not None:
            about = {"id": f"finding-{i}", "why": f"{finding.verdict} on {finding.backend}"}
            blocks.append(case_block(numbers(json.loads(json.dumps(finding.case))) | about))
    path.write_text(
        'name = "findings"\n' + "".join(f"\n{block}" for block in blocks), encoding="utf-8"
    )
