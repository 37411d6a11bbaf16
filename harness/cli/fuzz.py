"""The command `fuzz`."""

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sampler_parity.harness.cli.saying import say
from sampler_parity.harness.errors import InputError

if TYPE_CHECKING:
    from sampler_parity.harness.processes.pool import Pool
    from sampler_parity.harness.run.campaign import Campaign
    from sampler_parity.harness.run.cluster import Cluster
    from sampler_parity.harness.run.plan import Asked

_UNITS = {"s": 1, "m": 60, "h": 3600}
_SAY_S = 60.0


def fuzz_command(
    backend: Annotated[
        list[str] | None, typer.Option("--backend", "-b", help="a name or NAME=COMMAND")
    ] = None,
    duration: Annotated[str, typer.Option("--for", help="30s, 20m or 8h")] = "1h",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the campaign")] = None,
    resume: Annotated[bool, typer.Option(help="go on with the campaign, if there is one")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="by default 0, or the campaign's")] = None,
    jobs: Annotated[int, typer.Option("-j", min=0, help="processes; 0: one a core")] = 0,
    timeout: Annotated[float, typer.Option(min=0.1, help="seconds for one request")] = 60.0,
    where: Annotated[
        str, typer.Option("--executor", help="local, or dask:ADDRESS of a scheduler")
    ] = "local",
    label: Annotated[
        list[str] | None, typer.Option(help="only workers of the cluster with this resource")
    ] = None,
) -> None:
    """Make chains, state scripts and hostile logits for so long; a finding becomes a suite case."""
    from sampler_parity.harness.backends import registry
    from sampler_parity.harness.run import campaign
    from sampler_parity.harness.run.plan import Asked

    seconds, names, labels = seconds_of(duration), backend or ["llama.cpp"], tuple(label or ())
    for name in names:
        registry.command_of(name)
    asked = Asked([], names, executor=where, labels=labels, jobs=jobs, timeout_s=timeout)
    folder = output or Path("fuzz") / time.strftime("%Y%m%d-%H%M%S")
    begun = campaign.begin(folder, seed, names, resume)
    executor, size = _executor(asked)
    before, start, last = begun.steps, time.monotonic(), time.monotonic()

    def told(now: "Campaign") -> None:
        nonlocal last
        if time.monotonic() - last >= _SAY_S:
            last = time.monotonic()
            say(_line(now, (now.steps - before) / (last - start)))

    with executor as pool:
        campaign.go_on(begun, folder, pool, size, seconds, timeout, told)
    say(_line(begun, (begun.steps - before) / (time.monotonic() - start)))
    for finding in begun.findings[:10]:
        say(f"finding  {finding.backend} {finding.verdict} at {finding.stage or 'the process'}")
    if begun.findings:
        say(f"replay   sampler-parity run {folder / 'findings.toml'} -b {names[0]}")
    say(f"campaign {folder}, seed {begun.header.seed}")
    if begun.findings or not begun.steps:
        raise typer.Exit(1)


def seconds_of(duration: str) -> float:
    """Of 30s, 20m or 8h. Raises InputError."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smh])", duration)
    if match is None:
        raise InputError(f"--for {duration}", "no time", "write 30s, 20m or 8h")
    return float(match[1]) * _UNITS[match[2]]


def _executor(asked: "Asked") -> "tuple[Pool | Cluster, int]":
    """Where the backends run, after each was asked what it is. Raises InputError where one does not
    run there."""
    from importlib.metadata import version

    from sampler_parity.harness.processes.pool import Pool
    from sampler_parity.harness.run import cases, cluster
    from sampler_parity.harness.run.plan import address_of
    from sampler_parity.harness.run.run import absent_of

    names = dict.fromkeys(asked.backends)
    of_run: tuple[Any, ...] = (version("sampler-parity"), sys.argv, {}, "full", 0, names, ())
    address = address_of(asked)
    executor: Pool | cluster.Cluster
    if address:
        executor = cluster.Cluster(address, cluster.labels(asked.backends, list(asked.labels)))
        info, size = executor.describe(*of_run, asked.timeout_s), executor.size
    else:
        executor = Pool(asked.jobs, sys.maxsize)
        info, size = cases.describe(*of_run), executor.size
    for name, reason in absent_of(info.backends, asked.backends).items():
        raise InputError(f"backend {name}", f"does not run here: {reason}")
    return executor, size


def _line(now: "Campaign", steps_per_s: float) -> str:
    cases = sum(chunk.cases for chunk in now.chunks)
    refused = sum(chunk.refused for chunk in now.chunks)
    return (
        f"fuzz     {len(now.chunks):,} chunks  {cases:,} cases, {refused:,} of them up to where"
        f" llama.cpp is undefined  {now.steps:,} steps  {len(now.findings):,} findings"
        f"  {steps_per_s:,.0f} steps/s"
    )
