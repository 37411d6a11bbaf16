"""The command `fuzz`."""

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.folders import dated
from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError, Interrupted, need
from sampler_parity.harness.sanitize import limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from sampler_parity.harness.run.campaign import Campaign

_UNITS = {"s": 1, "m": 60, "h": 3600}
_REPORT_S = 60.0


def fuzz_command(
    backend: options.Backends = None,
    duration: Annotated[str, typer.Option("--for", help="30s, 20m or 8h")] = "1h",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the campaign")] = None,
    resume: Annotated[bool, typer.Option(help="go on with the campaign, if there is one")] = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=limits.WHOLE, help="default: 0, or the campaign's"),
    ] = None,
    jobs: options.Jobs = 0,
    timeout: options.Timeout = 60.0,
    where: options.Executor = "local",
    label: options.Labels = None,
    reference: Annotated[
        str | None,
        typer.Option(help="compare with: RELEASE, PLATFORM, RELEASE/PLATFORM; `own`: each build's"),
    ] = None,
) -> None:
    """Try generated chains, state scripts and hostile logits; a finding becomes a suite case.

    Examples:
      sampler-parity fuzz -b "mine=node my-adapter.js" --for 20m -o fuzz/mine
      sampler-parity fuzz -b "mine=node my-adapter.js" --for 8h -o fuzz/mine --resume
      sampler-parity fuzz -b llama.cpp@wasm --reference own --for 20m -o fuzz/wasm

    Exit status: 0 nothing was found; 1 something was, or nothing was done; 2 bad input.
    """
    need("fuzz", "fuzz")
    import shlex

    from sampler_parity.harness.backends import registry
    from sampler_parity.harness.bundle.lock import locked
    from sampler_parity.harness.run import campaign
    from sampler_parity.harness.run.plan import RunOptions
    from sampler_parity.harness.run.run import described, executor_of
    from sampler_parity.harness.run.started import Intent, absent_of

    seconds, names, labels = seconds_of(duration), backend or ["llama.cpp"], tuple(label or ())
    for name in names:
        registry.command_of(name)
    registry.references(names, reference)
    run_options = RunOptions(
        [], names, "full", executor=where, labels=labels, jobs=jobs, timeout_s=timeout
    )
    folder = output or dated(parent="fuzz")
    with executor_of(run_options, sys.maxsize) as executor:
        info = described(Intent(dict.fromkeys(names), ready_s=timeout), executor)
        for name, reason in absent_of(info.backends, names).items():
            raise InputError(f"backend {name}", f"does not run here: {reason}")
        with locked(folder):
            begun = campaign.begin(folder, seed, names, resume, reference)
            before, start = begun.steps, time.monotonic()
            report = _every_minute(before, start)
            limits = campaign.Limits(seconds, timeout)
            try:
                campaign.go_on(begun, folder, executor, limits, report)
            except KeyboardInterrupt:
                where = "" if output else f"-o {shlex.quote(str(folder))} "
                problem = f"interrupted after {len(begun.chunks):,} chunks: add {where}--resume"
                raise Interrupted(problem) from None
    print_line(_line(begun, (begun.steps - before) / (time.monotonic() - start)))
    for finding in begun.findings[:10]:
        print_line(
            f"finding  {finding.backend} {finding.verdict} at {finding.stage or 'the process'}"
        )
    failing = {finding.backend for finding in begun.findings if finding.case}
    if to_replay := [name for name in names if registry.command_of(name)[0] in failing]:
        on = "".join(f" -b {shlex.quote(name)}" for name in to_replay)
        by = f" --reference {reference}" if reference else ""
        print_line(f"replay   sampler-parity run {folder / 'findings.toml'}{on}{by}")
    counts = begun.classes.values()
    once = sum(count == 1 for count in counts)
    print_line(f"coverage {len(counts):,} outcome classes, {once:,} of them in one case only")
    print_line(f"campaign {folder}, seed {begun.header.seed}")
    if begun.findings or not begun.steps:
        raise typer.Exit(1)


def seconds_of(duration: str) -> float:
    """Return the seconds of 30s, 20m or 8h. Raises InputError."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smh])", duration)
    if match is None:
        raise InputError(f"--for {duration}", "invalid duration", "write 30s, 20m or 8h")
    return float(match[1]) * _UNITS[match[2]]


def _every_minute(before: int, start: float) -> "Callable[[Campaign], None]":
    """Return a callback that prints the progress of a campaign each minute."""
    last = start

    def report(now: "Campaign") -> None:
        nonlocal last
        if time.monotonic() - last >= _REPORT_S:
            last = time.monotonic()
            print_line(_line(now, (now.steps - before) / (last - start)))

    return report


def _line(now: "Campaign", steps_per_s: float) -> str:
    cases = sum(chunk.cases for chunk in now.chunks)
    refused = sum(chunk.refused for chunk in now.chunks)
    return (
        f"fuzz     {len(now.chunks):,} chunks  {cases:,} cases, {refused:,} of them up to where"
        f" llama.cpp is undefined  {now.steps:,} steps  {len(now.findings):,} findings"
        f"  {steps_per_s:,.0f} steps/s"
    )
