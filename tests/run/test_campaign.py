"""campaign: a fuzz campaign's chunks, its folder, its findings as a suite."""

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import typer

from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import Script
from sampler_parity.harness.checks.stages.blocks.campaign import LARGE, chunk, classes_of
from sampler_parity.harness.checks.stages.blocks.ladder import of_newest
from sampler_parity.harness.cli.fuzz import fuzz_command, seconds_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.run import campaign, judging
from sampler_parity.harness.suite.file import expand
from tests.support.cases import stages
from tests.support.command_line import cli, refused
from tests.support.judged import Inline

OF_GRAMMARS = {"grammar", "grammar_lazy_patterns"}  # whose suites draw grammars at random
FAULT = "mutant/dist/words-swapped"


class Mutant(InProcess):
    """Sends nothing after its replies."""

    asked = 0

    def __init__(self, mutant: str) -> None:
        super().__init__(mutant)
        self.late: list[tuple[int, str]] = []

    def settle(self, _: float) -> None:
        pass


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the mutant in this process."""
    with closing(Mutant(FAULT.removeprefix("mutant/"))) as mutant:
        monkeypatch.setattr(judging, "backend", lambda *_: mutant)
        yield


def done(folder: Path, seconds: float, backend: str, resume: bool = False) -> campaign.Campaign:
    begun = campaign.begin(folder, 7, [backend], resume)
    campaign.go_on(begun, folder, Inline(), campaign.Limits(seconds, 10), lambda _: None)
    return begun


def drawn(seed: int, number: int, seen: Set[str] = frozenset()) -> list[Case]:
    cases, classes_of_each = chunk(seed, number, seen)
    assert all(classes_of_each[key] == classes_of(case) for key, case in cases.items())
    return [*cases.values()]


@pytest.mark.slow
def test_a_chunk_depends_on_seed_and_number_alone() -> None:
    made = [[repr(case) for case in drawn(*at)] for at in ((3, 1), (3, 1), (4, 1), (3, 6))]
    assert made[0] == made[1]
    chains = [[case.chains for case in drawn(*at)] for at in ((3, 1), (4, 1), (3, 6))]
    assert chains[0] != chains[1] != chains[2] != chains[0]


def classes(cases: list[Case]) -> set[str]:
    return set().union(*map(classes_of, cases))


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 15, 16])
def test_cases_with_unseen_classes_come_first_and_take_the_place_of_others(number: int) -> None:
    first = drawn(3, number)
    seen = classes(first)
    directed = drawn(3, number, seen)
    unseen = [len(classes_of(case) - seen) for case in directed]
    assert unseen[0] > 0
    assert unseen == sorted(unseen, reverse=True)
    assert len(directed) == len(first)
    assert [case.id for case in drawn(3, number, seen)] == [case.id for case in directed]


@pytest.mark.slow
def test_the_chunks_reach_state_scripts_hostile_logits_and_large_vocabularies() -> None:
    made: list[Any] = [case for number in range(18) for case in drawn(1, number)]
    assert {name for case in made for name in case.samplers} >= set(of_newest()) - OF_GRAMMARS
    assert {case.id.partition("/")[0] for case in made} >= {"outcomes", "pairs", "scripts"}
    assert any(case.id.startswith("pieces/") and "dry" in case.samplers for case in made)
    assert any(case.operations for case in made)
    assert {case.script for case in made} == set(get_args(Script))
    assert {case.detail for case in made} == {"stages", "token"}
    assert {case.logits.n for case in made} & set(LARGE)
    assert max(case.steps for case in made) > 256
    values = np.concatenate(
        [np.ravel(case.logits.rows) for case in made if isinstance(case.logits, LiteralRows)]
    )
    assert np.isnan(values).any()
    assert (values == -np.inf).any()
    assert ((values != 0) & (abs(values) < 1e-38)).any()
    assert (abs(values[np.isfinite(values)]) > 1e38).any()


@pytest.mark.slow
def test_a_planted_fault_is_found_and_written_small_as_a_suite(
    in_process: None, tmp_path: Path
) -> None:
    """The suite fails on the fault, and not on samplers without it."""
    ended = done(tmp_path, 0.01, FAULT)
    while len(ended.findings) < 3 and len(ended.chunks) < 8:  # a chunk each
        ended = done(tmp_path, 0.01, FAULT, resume=True)
    assert ended.steps > 0
    assert {finding.stage for finding in ended.findings} <= {"dist", "chain", "token"}
    replayed = expand(tmp_path / "findings.toml", "full")
    assert len(replayed) == len(ended.findings) > 0
    smallest = min(replayed, key=lambda case: (len(case.chain), case.cost))
    assert len(smallest.chain) == 1
    assert smallest.logits.n <= 5
    for mutant, ok in ((FAULT.removeprefix("mutant/"), False), ("top_k/keeps-one-more", True)):
        with closing(InProcess(mutant)) as backend:  # the dist of the second is right
            assert execute(smallest, [backend]).ok == ok


@pytest.mark.slow
def test_a_campaign_that_was_killed_in_a_line_goes_on_with_that_chunk(
    in_process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, classes_of_each = chunk(7, 1)
    few = dict([*cases.items()][:1])
    monkeypatch.setattr(campaign, "chunk", lambda *_: (few, classes_of_each))
    first = done(tmp_path, 0.2, FAULT)
    path = tmp_path / "chunks.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    again = campaign.begin(tmp_path, None, [FAULT], resume=True)
    assert len(again.chunks) == len(first.chunks) - 1
    assert next(again.numbers()) == first.chunks[-1].chunk
    resumed = done(tmp_path, 0.2, FAULT, resume=True)
    numbers = [chunk.chunk for chunk in resumed.chunks]
    assert numbers == list(range(len(numbers)))


def test_another_campaign_in_the_folder_is_refused(in_process: None, tmp_path: Path) -> None:
    campaign.begin(tmp_path, 7, [FAULT], resume=False)
    with pytest.raises(InputError, match="holds a campaign - use --resume"):
        campaign.begin(tmp_path, 7, [FAULT], resume=False)
    for seed, backend in ((8, FAULT), (7, "reference")):
        with pytest.raises(InputError, match="holds another campaign: seed 7, mutant/dist"):
            campaign.begin(tmp_path, seed, [backend], resume=True)
    (tmp_path / "chunks.jsonl").write_text("x\n")
    with pytest.raises(InputError, match=r"chunks.jsonl: is not a campaign"):
        campaign.begin(tmp_path, 7, [FAULT], resume=True)


class Enough(Exception):  # noqa: N818 - no error
    """A campaign need not go on."""


class Recording(Inline):
    """Runs nothing; records its calls."""

    def __init__(self) -> None:
        self.names: list[dict[str, str | None]] = []

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        self.names += [dict(terms.backends) for _, _, terms, _ in calls]
        raise Enough
        yield


@pytest.mark.parametrize(
    ("backend", "reference", "judged_by"),
    [
        ("reference@wasm", "own", "v0.5.0/wasm"),
        ("reference", "linux-arm64-gcc", "v0.5.0/linux-arm64-gcc"),
        ("reference", None, None),
    ],
)
def test_a_campaign_is_judged_by_the_reference_that_is_asked_for(
    tmp_path: Path, backend: str, reference: str | None, judged_by: str | None
) -> None:
    executor = Recording()
    begun = campaign.begin(tmp_path, 7, [backend], resume=False, reference=reference)
    with pytest.raises(Enough):
        campaign.go_on(begun, tmp_path, executor, campaign.Limits(60, 10), lambda _: None)
    assert executor.names == [{backend: judged_by}]
    if reference:
        with pytest.raises(InputError, match="holds another campaign: seed 7, reference"):
            campaign.begin(tmp_path, 7, [backend], resume=True)


def test_what_is_undefined_on_a_platform_is_not_asked_and_no_finding() -> None:
    """But a row that the backend refuses is one."""
    case = stages([{"mirostat": {"seed": 1}}], {"rows": [[0.0, float("nan")]]})
    with closing(InProcess("dist/words-swapped")) as own:
        result = execute(case, [own], None, {own.name: "v0.5.0/wasm"})
    (got,) = result.backends.values()
    assert got.verdict == "rejected"
    assert [*campaign.findings_of(case, result, {})] == []
    refused = got.model_copy(update={"detail": "no such sampler"})
    other = result.model_copy(update={"backends": {own.name: refused}})
    assert [f.verdict for f in campaign.findings_of(case, other, {})] == ["rejected"]


@pytest.mark.slow
def test_a_campaign_that_another_process_writes_is_left_as_it_is(tmp_path: Path) -> None:
    """Its last line may be half written: a resume would cut it off."""
    campaign.begin(tmp_path, 7, ["reference"], resume=False)
    path = tmp_path / "chunks.jsonl"
    path.write_bytes(path.read_bytes() + b'{"chunk":0,')
    before = path.read_bytes()
    with locked(tmp_path):
        options = ("-b", "reference", "--for", "1s", "--resume", "-j", "1", "-o", tmp_path)
        assert "another process writes" in refused(cli("fuzz", *options))
    assert path.read_bytes() == before


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("20m", 1200), ("8h", 28800)])
def test_a_time_has_a_unit(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["8", "h", "-1s", "1e9h", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    assert refused(cli("fuzz", "--for", text)).endswith("invalid duration - write 30s, 20m or 8h")


@pytest.mark.slow
def test_the_end_has_the_coverage_and_a_replay_of_the_backends_that_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def go_on(begun: campaign.Campaign, *_: object) -> None:
        for backend, case in ((FAULT, {"id": "a"}), ("reference", None)):
            found = campaign.FuzzFinding(backend=backend, verdict="diverged", stage="", case=case)
            seen = {"top_k gap0": 1, f"script {backend}": 1}
            counts = {"cases": 1, "steps": 1, "refused": 0, "seconds": 0}
            row = counts | {"chunk": 0, "findings": [found], "classes": seen}
            begun.chunks.append(campaign.Chunk.model_validate(row))

    monkeypatch.setattr(campaign, "go_on", go_on)
    with pytest.raises(typer.Exit):
        fuzz_command(backend=["reference", FAULT], duration="1s", output=tmp_path / "a", jobs=1)
    lines = capsys.readouterr().out.splitlines()
    assert "coverage 3 outcome classes, 2 of them in one case only" in lines
    (line,) = [line for line in lines if line.startswith("replay")]
    assert line.endswith(f"findings.toml -b {FAULT}")


@pytest.mark.nightly
def test_the_command_finds_a_planted_fault_and_its_suite_replays_it(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    found = cli("fuzz", "-b", FAULT, "--for", "2s", "--seed", "4", "-j", "1", "-o", folder)
    assert found.returncode == 1
    assert "steps/s" in found.stdout
    assert f"replay   sampler-parity run {folder / 'findings.toml'} -b {FAULT}" in found.stdout
    suite = folder / "findings.toml"
    assert cli("run", suite, "-b", FAULT, "-j", "1", "-o", tmp_path / "a").returncode == 1
    assert cli("run", suite, "-b", "reference", "-j", "1", "-o", tmp_path / "b").returncode == 0


class Large(Inline):
    """An executor of 100 processes that records its tasks. A task with chunk 4 dies."""

    size = 100

    def __init__(self) -> None:
        self.tasks: list[list[int]] = []

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        for place, call in enumerate(calls):
            self.tasks.append(call[0])
            yield place, Died("it died") if 4 in call[0] else function(*call)


def blank(seed: int, number: int, *_: object) -> campaign.Chunk:
    return campaign.Chunk(chunk=number, cases=1, steps=seed, refused=0, seconds=0)


@pytest.mark.slow
def test_of_a_task_that_kills_its_worker_the_chunk_that_does_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "run_number", blank)
    executor = Large()
    begun = campaign.begin(tmp_path, 7, [FAULT], resume=False)
    campaign.go_on(begun, tmp_path, executor, campaign.Limits(0.1, 10), lambda _: None)
    assert campaign.read(tmp_path) == begun
    chunks = begun.chunks
    assert [3] in executor.tasks
    crashed = [chunk for chunk in chunks if chunk.findings]
    assert [(chunk.chunk, chunk.findings[0].verdict) for chunk in crashed] == [(4, "crashed")]
    assert sorted(chunk.chunk for chunk in chunks) == list(range(len(chunks)))
