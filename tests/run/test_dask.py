"""harness/run/cluster.py: a run on a local Dask cluster of two worker processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends.engines import ENGINES, OWN
from sampler_parity.harness.bundle import bundle, machine
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import ChangeResult, CounterexampleResult
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.logits import DecodeResult
from sampler_parity.harness.checks.stages.blocks.campaign import chunk
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.run import campaign, cluster
from sampler_parity.harness.run.plan import RunOptions, address_of
from sampler_parity.harness.run.started import Intent, describe
from sampler_parity.harness.suite.file import expand
from tests.support.command_line import COMMAND, ROOT, cli, refused
from tests.support.suites import SMALL
from tests.support.timeless import timeless

ASKED = Intent({"null": None}, profile="quick", ready_s=60.0)
MUTANT = "mutant/top_k/zero-means-one"
WORKER = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory"]


@contextmanager
def dask(folder: Path) -> Iterator[str]:
    """Start a scheduler and two workers without a nanny that would restart them; yield its address.

    The first worker has the resource "gpu".
    """
    folder.mkdir()
    file = folder / "scheduler.json"
    scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = ["dask_worker", "--scheduler-file", str(file), *WORKER, str(folder)]
    started = [_start(folder / "scheduler", *scheduler, "--scheduler-file", str(file))]
    try:
        _until(file.exists)
        started += [
            _start(folder / "one", *worker, "--resources", "gpu=1"),
            _start(folder / "two", *worker),
        ]
        address = json.loads(file.read_text())["address"]
        with client_of(address) as client:
            client.wait_for_workers(2, timeout=120)
        yield address
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def client_of(address: str) -> Any:
    """Return a client. Only processes with a cluster load Dask, not each that collects tests."""
    from distributed import Client

    return Client(address, set_as_default=False)


def _start(log: Path, module: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
    with log.open("wb") as file:
        return subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=file)


def _until(true: Any, timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, "not within time"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dask(tmp_path_factory.mktemp("dask") / "cluster") as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def described() -> RunInfo:
    """Return the description of this process."""
    return describe(ASKED)


def results_of(read: Bundle) -> list[Any]:
    """Return every result without its times."""
    others = (DistributionResult, DecodeResult, ChangeResult)
    results = (*read.cases, *(result for kind in others for result in read.of(kind)))
    return [timeless(result.model_dump()) for result in results]


def artifacts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "artifacts").iterdir()}


@pytest.mark.nightly
def test_a_fuzz_campaign_runs_on_a_cluster(tmp_path: Path, address: str) -> None:
    """Its chunks are those that any executor makes of the seed."""
    seconds, folder = ["--for", "0.1s"], tmp_path / "c"
    where = ["--executor", f"dask:{address}", "--seed", "3"]
    done = cli("fuzz", "-b", "llama.cpp", *seconds, *where, "-o", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    chunks = {done.chunk: done for done in campaign.read(folder).chunks}
    assert sorted(chunks) == [0, 1]  # a wave: one for each worker
    for number, ran in chunks.items():
        cases, _ = chunk(3, number)
        assert ran.cases == len(cases)
        assert ran.steps > ran.cases
        assert ran.findings == []


def here_and_there(tmp_path: Path, suite: Path, address: str) -> tuple[Bundle, Bundle]:
    """The bundles of a run that fails, of this machine alone and of a cluster."""
    named = ("frequencies/masked", "small/many/normal-V128-k0-seed1", "small/many/normal-V128-k5-*")
    arguments: list[str | Path] = ["run", suite, "distribution/frequencies"]
    arguments += ["-b", "llama.cpp", "-b", MUTANT]
    arguments += [word for name in named for word in ("--case", name)]
    one_machine = cli(*arguments, "-o", tmp_path / "here", "-j", "1")
    there = cli(*arguments, "-o", tmp_path / "there", "--executor", f"dask:{address}")
    assert (one_machine.returncode, there.returncode) == (1, 1), one_machine.stderr + there.stderr
    return bundle.read_finished(tmp_path / "here"), bundle.read_finished(tmp_path / "there")


@pytest.mark.slow
def test_bundle_of_a_cluster_equals_that_of_a_local_run_but_for_times(
    tmp_path: Path, suite: Path, address: str, as_it_fails: None
) -> None:
    local, remote = here_and_there(tmp_path, suite, address)
    assert results_of(remote) == results_of(local)
    assert artifacts(tmp_path / "there") == artifacts(tmp_path / "here") != {}
    assert remote.info.machine == local.info.machine


@pytest.mark.nightly
def test_what_a_cluster_makes_small_is_what_this_machine_does(
    tmp_path: Path, suite: Path, address: str
) -> None:
    local, remote = here_and_there(tmp_path, suite, address)
    here, there = (done.of(CounterexampleResult) for done in (local, remote))
    assert [r.smaller for r in there] == [r.smaller for r in here]
    assert any(record.smaller for record in there)


@pytest.mark.nightly
def test_worker_killed_in_mid_run_costs_no_result(tmp_path: Path, suite: Path) -> None:
    suite.write_text(SMALL.replace("4, 5]", f"{', '.join(map(str, range(4, 16)))}]"))
    folder = tmp_path / "there"
    with dask(tmp_path / "cluster") as address:
        where = ["-o", str(folder), "--executor", f"dask:{address}"]
        process = subprocess.Popen([*COMMAND, "run", str(suite), *where], cwd=ROOT)
        with client_of(address) as client:
            results = folder / "results.jsonl"
            _until(lambda: results.exists() and b'"case"' in results.read_bytes())
            pids: dict[str, int] = client.run(os.getpid)
            _until(lambda: any(client.processing().values()))
            busy = next(worker for worker, tasks in client.processing().items() if tasks)
            os.kill(pids[busy], signal.SIGKILL)
            recorded = len(results.read_bytes().splitlines())
            assert process.wait(300) == 0
            left = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
            assert set(left) == pids.keys() - {busy}
    done = bundle.read_finished(folder)
    assert len(done.cases) > recorded
    assert sorted(case.id for case in done.cases) == sorted(c.id for c in expand(suite, "quick"))
    assert all(case.ok for case in done.cases)


@pytest.mark.slow
def test_calls_go_to_the_workers_that_have_the_label(address: str) -> None:
    with cluster.Cluster(address, ["gpu"]) as labelled, cluster.Cluster(address, []) as anywhere:
        able = {labelled.call(os.getpid) for _ in range(6)}
        assert len(able) == 1
        pids = {pid for _, pid in anywhere.each(slow_pid, [()] * 6)}
        assert len(pids) == 2
        assert able < pids


def slow_pid() -> int:
    time.sleep(0.2)
    return os.getpid()


@pytest.mark.slow
def test_label_that_no_worker_has_is_refused_with_the_fix(
    tmp_path: Path, suite: Path, address: str
) -> None:
    where = ["--executor", f"dask:{address}", "--label", "vulkan"]
    line = refused(cli("run", suite, *where, "-o", tmp_path / "b"))
    assert "none of its 2 workers has vulkan" in line
    assert "dask worker --resources 'vulkan=1'" in line
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("where", "label", "message"),
    [
        ("slurm:x", [], "--executor slurm:x: unknown executor - use local or dask:ADDRESS"),
        ("dask", [], "--executor dask: unknown executor - use local or dask:ADDRESS"),
        ("local", ["gpu"], "--label: needs a cluster - use --executor dask:ADDRESS"),
    ],
)
def test_executor_that_is_unknown_is_refused(where: str, label: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        address_of(RunOptions(["parity"], ["llama.cpp"], executor=where, labels=tuple(label)))


@pytest.mark.slow
def test_address_without_a_scheduler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 1)
    with pytest.raises(InputError, match=r"dask:tcp://127\.0\.0\.1:9: no scheduler answers"):
        cluster.Cluster("tcp://127.0.0.1:9", [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "address", ["foo", "127.0.0.1", "tcp://:x", "slurm://h:1"], ids=["name", "ip", "port", "kind"]
)
def test_what_is_no_address_is_refused_before_anybody_is_asked(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("distributed.Client", None)  # to call it is a defect
    with pytest.raises(
        InputError, match=f"dask:{address}: invalid address: .* - use dask:HOST:PORT"
    ):
        cluster.Cluster(address, [])


@pytest.mark.parametrize(
    ("names", "others", "wanted"),
    [
        (["llama.cpp", "akunu/cpu", "mine=run --x a:gpu"], [], []),
        (["akunu/webgpu"], ["big"], ["big", "gpu"]),
    ],
)
def test_labels_are_the_devices_of_the_backends(
    names: list[str], others: list[str], wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = ENGINES["akunu/webgpu"].model_copy(update={"device": "gpu"})
    monkeypatch.setitem(OWN, "akunu/webgpu", bound)
    assert cluster.labels(names, others) == wanted


@pytest.mark.parametrize(
    ("others", "apart"),
    [
        ({"cpu_flags": ["x"], "libc": "musl"}, "cpu_flags, libc"),
        ({"code": "another"}, "code"),
        ({"suites": "another"}, "suites"),
        ({}, "backend null"),
    ],
    ids=["machine", "reference", "suites", "library"],
)
def test_worker_that_is_not_as_the_first_refuses_to_compute(
    described: RunInfo, others: dict[str, Any], apart: str
) -> None:
    def alone(info: RunInfo, **others: object) -> object:
        machine = info.machine.model_copy(update=others)
        return cluster._alone((info.model_copy(update={"machine": machine}), ASKED), max, (1, 2))

    assert alone(described, memory_bytes=1, cores=999) == 2
    build = {} if others else {"build": "libllama.so, sha256 other"}
    null = described.backends["null"].model_copy(update=build)
    expected = described.model_copy(update={"backends": {"null": null}})
    with pytest.raises(InputError, match=f"that joined the cluster differs in {apart}"):
        alone(expected, **others)


@pytest.mark.slow
@pytest.mark.parametrize("field", ["code", "suites"])
def test_workers_that_are_not_as_this_machine_are_refused_before_the_run(
    address: str, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    ours = machine.describe().model_copy(update={field: "another"})
    monkeypatch.setattr(machine, "describe", lambda: ours)
    with (
        cluster.Cluster(address, []) as workers,
        pytest.raises(InputError, match=f"this machine differ in the {field} of sampler-parity"),
    ):
        workers.describe(ASKED)


@pytest.mark.slow
def test_workers_are_there_where_the_client_has_just_forgotten_them(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every two seconds it asks the scheduler for what it shows, without workers."""
    monkeypatch.setattr("distributed.Client.scheduler_info", lambda *_, **__: {"workers": {}})
    with cluster.Cluster(address, []) as workers:
        assert workers.size == 2


@pytest.mark.slow
def test_cluster_whose_workers_die_again_and_again_says_so(address: str) -> None:
    from distributed.scheduler import KilledWorker

    with (
        pytest.raises(BrokenExecutor, match="workers of the cluster died"),
        cluster.Cluster(address, []),
    ):
        raise KilledWorker("task", None, 3)


def test_a_worker_that_dies_while_it_is_described_is_one_line() -> None:
    class Silent:
        def result(self, timeout: float) -> None:
            raise TimeoutError

    made: Any = object.__new__(cluster.Cluster)
    made._where, made._present = "dask:a", lambda: {"tcp://b": {}}
    with pytest.raises(InputError, match="dask:a: worker tcp://a died while it described it"):
        made._answer("tcp://a", Silent())
