"""harness/bundle/cases.py: the same cases as models would be, in a fraction of their memory."""

import json
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.cases import alike, where
from sampler_parity.harness.bundle.info import Footer
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.cli.gate import today
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.gate.gate import gate
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.parity.parity_page import PARITY
from tests.support.large_bundle import large_bundle
from tests.support.report_bundles import HOSTILE, case, diverged, got, run_info

FEW, MANY = 2_000, 12_000
PER_CASE = 400  # bytes; a model takes 4,000
# Runs a command and prints the peak of its largest process. This process counts earlier ones too.
PEAK = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, "MiB")
sys.exit(status)
"""
BACKENDS = {"x": got(ns=5, wall_s=0.5), "y": got(ns=7, wall_s=1e-7)}
PEAK_MIB = 1024
CASES = 1_000_000


def small(folder: Path) -> Path:
    """Write a bundle whose cases differ in every part of a record."""
    writer = create(folder, run_info("x", "y", suites={"parity/top_p": "abc"}))
    cases = [
        case(f"{suite}/{i}", BACKENDS, suite=suite, samplers=chain, steps=i % 3 + 1)
        for i in range(20)
        for suite in ("parity/b", "parity/a")
        for chain in (["top_p"], ["temp", "dist"])
        if i % 2 or chain == ["top_p"]
    ]
    cases = [c.model_copy(update={"id": f"{c.id}/{len(c.samplers)}"}) for c in cases]
    for i in range(3):
        values = {"got": i / 3, "nested": {"ns": 1, "wall_s": 2.0}, "text": '"ns":1,"wall_s":2,'}
        wrong = {"x": diverged(values=values, ns=2**62), "y": got(ns=-3, wall_s=float("inf"))}
        cases.append(case(f"z{i}", wrong, unmet='"samplers":[]', reference_s=1e300))
    cases += [case(f"ä{HOSTILE}", BACKENDS), case("steps/none", BACKENDS, steps=0, samplers=[])]
    writer.append(*cases)
    steps = sum(each.steps for each in cases)
    writer.close(Footer(cases=len(cases), steps=steps, wall_s=1.0, records={"case": len(cases)}))
    return folder


def models(folder: Path) -> list[CaseResult]:
    """Return the cases of a bundle, each parsed and validated by itself."""
    lines = (folder / "results.jsonl").read_text().splitlines()
    cases = [CaseResult.model_validate(json.loads(line)) for line in lines if '"case"' in line[:20]]
    return sorted(cases, key=lambda one: (one.suite, one.id))


def test_cases_in_columns_are_those_of_their_lines(tmp_path: Path) -> None:
    read = bundle.read_finished(small(tmp_path / "b")).cases
    wanted = models(tmp_path / "b")
    assert [*read] == wanted
    assert [*read[3:9]] == wanted[3:9]
    assert read[-1] == wanted[-1]
    assert [*read.ids()] == [one.id for one in wanted]


def test_cases_that_were_visited_before_are_escaped_too(tmp_path: Path) -> None:
    read = bundle.read_finished(small(tmp_path / "b")).cases
    plain = [case.id for case, _ in read.alike()]
    assert [case.id for case, _ in read.escaped().alike()] == [visible(id) for id in plain]
    assert [case.id for case, _ in read.alike()] == plain != [visible(id) for id in plain]


def test_where_and_alike_give_what_every_case_gives(tmp_path: Path) -> None:
    read = bundle.read_finished(small(tmp_path / "b")).cases
    assert [*where(read, lambda one: one.steps == 2)] == [c for c in read if c.steps == 2]
    counted = [*alike(read)]
    assert len(counted) < len(read) == sum(n for _, n in counted)
    assert sum(n * one.steps for one, n in counted) == sum(one.steps for one in read)
    assert sum(n for one, n in counted if not one.ok) == sum(not one.ok for one in read)


def lines_of(folder: Path) -> list[str]:
    return (small(folder) / "results.jsonl").read_text().splitlines()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"steps":2', '"steps":"x"'), "steps"),
        (('"ns":5', '"ns":01'), "Expecting"),
        (('"wall_s":0.5', '"wall_s":"x"'), "wall_s"),
        (('"ns":5', '"ns":99999999999999999999'), "larger than"),
        (('"reference_s":0.0', '"reference_s":[]'), "reference_s"),
        (('"samplers":["top_p"]', '"samplers":[5]'), "samplers"),
        (('"draws":0', '"draws":0,"more":1'), "Extra inputs"),
    ],
    ids=lambda part: part[1] if isinstance(part, tuple) else "",
)
def test_a_line_of_a_known_form_is_not_believed(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    lines = lines_of(tmp_path / "b")
    at = max(i for i, line in enumerate(lines) if change[0] in line and '"case"' in line)
    lines[at] = lines[at].replace(*change, 1)
    (tmp_path / "b" / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(InputError, match=rf"results.jsonl:{at + 1}: malformed.*{message}"):
        bundle.read(tmp_path / "b")


def test_a_key_twice_has_its_last_value(tmp_path: Path) -> None:
    """As for every other line: JSON as Python reads it."""
    lines = lines_of(tmp_path / "b")[:-1]
    twice = [line.replace('"refusal":""', '"steps":7,"refusal":""') for line in lines[1:9]]
    text = "".join(f"{line}\n" for line in [*lines[:1], *twice])
    (tmp_path / "b" / "results.jsonl").write_text(text)
    assert {one.steps for one in bundle.read(tmp_path / "b").cases} == {7}


def test_a_bundle_of_an_older_version_lacks_fields(tmp_path: Path) -> None:
    lines = lines_of(tmp_path / "b")[:-1]
    text = "".join(
        line.replace('"ties":false,', "").replace('"why":"",', "") + "\n" for line in lines
    )
    (tmp_path / "b" / "results.jsonl").write_text(text)
    assert [one.model_dump() for one in bundle.read(tmp_path / "b").cases] == [
        one.model_dump() for one in models(tmp_path / "b")
    ]


def source(folder: Path) -> Path:
    """Write a bundle to be repeated."""
    info = run_info("x", suites={"parity/top_p": "abc"})
    writer = create(folder, info)
    cases = [case(f"top_p/{i}", {"x": got(ns=i)}, steps=i % 5 + 1) for i in range(50)]
    writer.append(*cases)
    writer.close(Footer(cases=50, steps=150, wall_s=1.0, records={"case": 50}))
    return folder


def judged(read: Bundle) -> object:
    return gate(read, read_policy(None), None, today())


def reported(read: Bundle) -> object:
    page = PARITY.made([read])
    assert page is not None
    return [page.text("html"), page.text("json")]


def explained(read: Bundle) -> object:
    return groups(read.info, read.cases)


USES: dict[str, Callable[[Bundle], object]] = {
    "read": lambda read: None,
    "gate": judged,
    "report": reported,
    "explain": explained,
}


def peak(folder: Path, use: Callable[[Bundle], object]) -> int:
    """Return the most bytes at a time while a bundle is read and used."""
    tracemalloc.start()
    use(bundle.read_finished(folder))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.fixture(autouse=True)
def small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """For run.json a buffer as large as its limit is allocated: it would hide the cases."""
    monkeypatch.setattr(limits, "RUN_JSON", 1 << 16)


def growth(tmp_path: Path, use: Callable[[Bundle], object]) -> float:
    """Return the bytes of each further case."""
    first = source(tmp_path / "source")
    for n in (FEW, MANY):
        large_bundle(first, tmp_path / str(n), n, failing=0)
    use(bundle.read_finished(tmp_path / str(FEW)))  # what is made once
    few, many = (peak(tmp_path / str(n), use) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_a_further_case_takes_little_memory(tmp_path: Path, use: str) -> None:
    assert growth(tmp_path, USES[use]) < PER_CASE


@pytest.mark.slow
def test_a_list_of_all_cases_would_be_seen(tmp_path: Path) -> None:
    assert growth(tmp_path, lambda read: [*read.cases]) > 2 * PER_CASE


@pytest.mark.nightly
@pytest.mark.parametrize("command", ["explain", "history", "gate", "report", "compare"])
def test_commands_read_a_million_cases_in_a_gibibyte(tmp_path: Path, command: str) -> None:
    """`make scale`. The peak is that of all commands so far: the smallest comes first."""
    folder = tmp_path / "b"
    large_bundle(source(tmp_path / "source"), folder, CASES)
    every: dict[str, list[str | Path]] = {
        "report": [folder, "-o", tmp_path / "report"],
        "gate": [folder, "--no-recompute"],
        "compare": [folder, folder],
        "explain": [folder],
        "history": ["add", folder, "-d", tmp_path / "history"],
    }
    program = "sampler_parity.harness.cli"
    line = [sys.executable, "-m", program, command, *map(str, every[command])]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{command}: {seconds:.1f} s of a core, {after.ru_maxrss / 1024:,.0f} MiB")
    assert done.returncode == (1 if command == "gate" else 0), done.stderr
    assert after.ru_maxrss / 1024 < PEAK_MIB


SUITE = """
name = "many-{i}"
[[matrix]]
id = "many"
description = "dist with a seed"
why = "A million cases must fit the memory."
chain = [{{ dist = {{ seed = "$seed" }} }}]
vary = {{ seed = {seeds} }}
families = ["normal"]
sizes = [3]
"""
OF_A_SUITE = 100_000


@pytest.mark.nightly
def test_a_run_of_a_million_cases_takes_a_gibibyte(tmp_path: Path) -> None:
    """`make scale`. A suite may have 200,000 cases."""
    paths = [tmp_path / f"many-{i}.toml" for i in range(CASES // OF_A_SUITE)]
    seeds = [*range(OF_A_SUITE)]
    for i, path in enumerate(paths):
        path.write_text(SUITE.format(i=i, seeds=seeds))
    line = [sys.executable, "-m", "sampler_parity.harness.cli", "run", *map(str, paths)]
    where = ["-b", "reference", "-o", str(tmp_path / "b")]
    peak = [sys.executable, "-c", PEAK, *line, *where]
    done = subprocess.run(peak, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    assert f"{CASES:,}/{CASES:,} as required" in done.stdout
    assert int(done.stdout.split()[-2]) < PEAK_MIB
