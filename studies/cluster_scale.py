"""The cost of a campaign of 10^9 steps on a Dask cluster of 10, 100 and 1,000 workers.

    python -m studies.cluster_scale [chunks] [scheduler] [record] [plan] [workers]

chunks: runs chunks of `fuzz` on llama.cpp
scheduler: gives tasks of a millisecond to simulated workers, all in one process, and counts the
processor time that the scheduler spends on each, and while they do nothing
record: writes and reads the file of a long campaign
plan: does all three and combines them
workers: runs the same chunks on 1 to 16 Dask workers of this machine

Times are processor times, so other programs on the machine do not count.
"""

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.checks.context import Terms
from sampler_parity.harness.run.campaign import (
    Campaign,
    Chunk,
    Identity,
    chunks_of_a_task,
    read,
    run_number,
    run_numbers,
)
from studies.sections import main

STEPS = 10**9
TERMS = Terms({"llama.cpp": None})
WORKERS = (10, 100, 1000)
HERE = (1, 2, 4, 8, 16)  # workers on one machine
TURN = 18  # chunks that have each kind once
CHUNKS, TASKS, LINES = 20, 4000, 100_000
TASK_S, IDLE_S = 0.001, 5.0
UP_S = 900  # 1,000 workers in one process came up in nine minutes on a busy machine

# Workers as they are, but for what each does by itself every few milliseconds and is no scheduler's
# work: profiles of their thread, the monitor of the machine, the limits of memory.
HOST = """
import asyncio, sys
import dask

dask.config.set({
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
})
from distributed import Worker

async def host(address, n, folder):
    options = {"nthreads": 1, "memory_limit": 0, "dashboard": False, "local_directory": folder}
    made = [Worker(address, **options) for _ in range(n)]
    for first in range(0, n, 50):
        await asyncio.gather(*made[first:first + 50])
    await asyncio.gather(*(worker.finished() for worker in made))

asyncio.run(host(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
"""


def _spent(process: int) -> float:
    """Return the processor seconds of a process, from Linux."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children(process: int | str = "self") -> list[int]:
    listed = (
        path.read_text(encoding="utf-8")
        for path in Path(f"/proc/{process}/task").glob("*/children")
    )
    return [int(child) for line in listed for child in line.split()]


def _all_spent(process: int) -> float:
    """Return the processor seconds of a process and of all below it."""
    return _spent(process) + sum(map(_all_spent, _children(process)))


@functools.cache
def measured() -> list[tuple[Chunk, float]]:
    """Return chunks of a campaign with the processor seconds of this process and its backend's."""
    run_number(1, 0, TERMS)  # starts the backend
    processes, rows = [os.getpid(), *_children()], []
    for number in range(1, 1 + CHUNKS):
        before = sum(map(_spent, processes))
        done = run_number(1, number, TERMS)
        rows.append((done, sum(map(_spent, processes)) - before))
    return rows


def chunks() -> Iterator[str]:
    """Measure a chunk of a campaign on llama.cpp."""
    rows = measured()
    steps, seconds = sum(done.steps for done, _ in rows), sum(spent for _, spent in rows)
    wrong = sum(len(done.findings) for done, _ in rows)
    yield f"{len(rows)} chunks, {steps:,} steps, {wrong} findings"
    yield f"{steps / len(rows):,.0f} steps and {seconds / len(rows):.2f} s a chunk"
    yield f"{steps / seconds:,.0f} steps a second of a processor"


@contextlib.contextmanager
def cluster(n: int, folder: Path) -> Iterator[tuple[str, int]]:
    """Start a scheduler in one process and n simulated workers in another; yield its address."""
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    command += ["--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    with (folder / "log").open("wb") as log:
        scheduler = subprocess.Popen(command, stdout=log, stderr=log)
        started = [scheduler]
        try:
            while not file.exists():
                time.sleep(0.05)
            address = json.loads(file.read_text(encoding="utf-8"))["address"]
            host = [sys.executable, "-c", HOST, address, str(n), str(folder)]
            started.append(subprocess.Popen(host, stdout=log, stderr=log))
            yield address, scheduler.pid
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


@dataclass(frozen=True)
class Scheduled:
    """Processor seconds of the scheduler: for a task, and in a second without any."""

    a_task: float
    idle: float


@functools.cache
def scheduled(n: int) -> Scheduled:
    """Measure the scheduler with n workers."""
    from distributed import Client

    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(n, Path(folder)) as (address, process),
        Client(address, set_as_default=False) as client,
    ):
        client.wait_for_workers(n, timeout=UP_S)
        pool = client.get_executor(pure=False)
        before = _spent(process)
        for future in [pool.submit(time.sleep, TASK_S) for _ in range(TASKS)]:
            future.result()
        a_task = (_spent(process) - before) / TASKS
        before = _spent(process)
        time.sleep(IDLE_S)
        return Scheduled(a_task, (_spent(process) - before) / IDLE_S)


def scheduler() -> Iterator[str]:
    """Measure how many tasks a second a scheduler gives out."""
    for n in WORKERS:
        of = scheduled(n)
        yield (
            f"{n:,} workers: {of.a_task * 1e6:,.0f} us a task, {1 / of.a_task:,.0f} tasks a"
            f" second; idle {of.idle:.1%} of a processor"
        )


@dataclass(frozen=True)
class Kept:
    """A chunk in a record: bytes in chunks.jsonl and in memory; seconds to add it and to read it
    back.
    """

    size: float
    memory: float
    add_s: float
    read_s: float


@functools.cache
def record_costs() -> Kept:
    header = Identity(seed=1, backends=["llama.cpp"], version="1")
    done = [done for done, _ in measured()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chunks.jsonl"
        start = time.process_time()
        with path.open("w", encoding="utf-8") as file:
            file.write(header.model_dump_json() + "\n")
            for number in range(LINES):  # as a chunk of a worker is added
                file.write(done[number % len(done)].model_dump_json() + "\n")
                file.flush()
        add_s = (time.process_time() - start) / LINES
        size = path.stat().st_size / LINES
        before, start = _resident(), time.process_time()
        campaign: Campaign = read(Path(folder))
        read_s = (time.process_time() - start) / len(campaign.chunks)
        return Kept(size, (_resident() - before) / LINES, add_s, read_s)


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def record() -> Iterator[str]:
    """Measure the size of a campaign's file, and the time to add to it and to read it."""
    of = record_costs()
    yield (
        f"{of.size:.0f} bytes, {of.memory:,.0f} in memory, {of.add_s * 1e6:.0f} us to add and"
        f" {of.read_s * 1e6:.0f} us to read a chunk, of {LINES:,}"
    )


def plan() -> Iterator[str]:
    """Calculate 10^9 steps on 10, 100 and 1,000 workers."""
    rows = measured()
    a_chunk = sum(spent for _, spent in rows) / len(rows)
    n_chunks = STEPS / (sum(done.steps for done, _ in rows) / len(rows))
    yield from [*chunks(), *scheduler(), *record()]
    of = record_costs()
    megabytes, read_back = n_chunks * of.size / 1e6, n_chunks * of.read_s
    yield (
        f"{n_chunks:,.0f} chunks, {megabytes:,.0f} MB, {n_chunks * of.memory / 1e6:,.0f} MB in"
        f" memory, {n_chunks * of.add_s:,.0f} s to add, {read_back:,.0f} s to read"
    )
    yield "| workers | computing | scheduler, 1 a task | it feeds | chunks a task | scheduler |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for n in WORKERS:
        hours, a_task = n_chunks * a_chunk / n / 3600, scheduled(n).a_task
        given, a_time = n_chunks * a_task / 3600, chunks_of_a_task(n)
        yield (
            f"| {n:,} | {hours:,.2f} h | {given:,.2f} h | {a_chunk / a_task:,.0f} | {a_time} |"
            f" {given / a_time:,.3f} h |"
        )


@contextlib.contextmanager
def cluster_here(n: int, folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Start a scheduler and n real workers; yield its address and the processes, its own first."""
    file = folder / "scheduler.json"
    module = [sys.executable, "-m", "distributed.cli"]
    scheduler = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
    commands = [["dask_scheduler", *scheduler]] + n * [
        ["dask_worker", *worker, "--local-directory", str(folder)]
    ]
    started: list[subprocess.Popen[bytes]] = []
    with (folder / "log").open("wb") as log:
        try:
            for program, *options in commands:
                command = [*module[:2], f"{module[2]}.{program}", *options]
                command += ["--scheduler-file", str(file)]
                started.append(subprocess.Popen(command, stdout=log, stderr=log))
                while not file.exists():
                    time.sleep(0.05)
            address = json.loads(file.read_text(encoding="utf-8"))["address"]
            yield address, [process.pid for process in started]
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def workers() -> Iterator[str]:
    """Run eight turns of chunks on 1 to 16 workers of this machine, a chunk a task."""
    from sampler_parity.harness.run.cluster import Cluster

    for n in HERE:
        with (
            tempfile.TemporaryDirectory() as folder,
            cluster_here(n, Path(folder)) as (address, (of_scheduler, *processes)),
            Cluster(address, []) as executor,
        ):
            while executor.size < n:
                time.sleep(0.5)
            warm = ([*range(TURN)], 1, TERMS, frozenset[str]())
            list(executor.each(run_numbers, [warm] * n))
            before = [_spent(of_scheduler), sum(map(_all_spent, processes)), _spent(os.getpid())]
            start = time.monotonic()
            calls = [([number], 2, TERMS, frozenset[str]()) for number in range(8 * TURN)]
            done = [chunk for _, some in executor.each(run_numbers, calls) for chunk in some]
            wall = time.monotonic() - start
            after = [_spent(of_scheduler), sum(map(_all_spent, processes)), _spent(os.getpid())]
            time.sleep(IDLE_S)
            idle = (sum(map(_all_spent, processes)) - after[1]) / IDLE_S / n
        steps = sum(chunk.steps for chunk in done)
        spent = [b - a for a, b in zip(before, after, strict=True)]
        yield (
            f"{n} workers: {steps:,} steps, {steps / sum(spent):,.0f} a second of a processor,"
            f" {steps / wall:,.0f} a second; us a task: scheduler"
            f" {spent[0] / len(calls) * 1e6:,.0f}, client {spent[2] / len(calls) * 1e6:,.0f};"
            f" an idle worker {idle:.1%} of a processor"
        )


if __name__ == "__main__":
    main(
        "What a campaign of 10^9 steps costs on a cluster.",
        {
            "chunks": chunks,
            "scheduler": scheduler,
            "record": record,
            "plan": plan,
            "workers": workers,
        },
    )
