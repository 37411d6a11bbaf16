"""Run a plan for a command: progress, summary, next command, exit status."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import typer

from sampler_parity.harness.bundle.bundle import Bundle, done_ids
from sampler_parity.harness.bundle.summary import Summary, summarize
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.cli.bundle_summary import next_command, show
from sampler_parity.harness.cli.output import print_line, write_data
from sampler_parity.harness.cli.progress import Progress
from sampler_parity.harness.errors import InputError, Interrupted
from sampler_parity.harness.run.eta import Pace
from sampler_parity.harness.run.plan import Plan, left_out, lines
from sampler_parity.harness.run.run import run
from sampler_parity.harness.sanitize.printable import visible


def show_plan(plan: Plan, folder: Path, resume: bool) -> None:
    """Print the plan; with `--resume` only what is left."""
    for line in lines(plan, done_ids(folder) if resume else set()):
        print_line(line)


@dataclass(frozen=True)
class RunOutput:
    """How a run is reported. json: file for its counts. named: an option named the folder."""

    json: Path | None = None
    if_available: bool = False
    quiet: bool = False
    verbose: bool = False
    named: bool = True


def run_and_report(plan: Plan, folder: Path, resume: bool, shown: RunOutput) -> None:
    """Run a plan and print its outcome. Raises Exit for statuses 1 and 2."""
    for line in left_out(plan):
        print_line(line)
    progress = Progress(shown.quiet, shown.verbose)
    try:
        done = run(plan, folder, resume, progress, print_line)
    except KeyboardInterrupt:
        raise interrupted(progress.pace, folder, shown.named) from None
    if done.bundle is None:
        name, reason = next(iter(done.absent.items()))
        if not shown.if_available:
            raise InputError(f"backend {name}", f"does not run here: {reason}")
        print_line(f"nothing was run: backend {name} does not run here: {reason}")
        return
    if shown.json is not None:
        write_data(shown.json, counts(done.bundle))
    show(done.bundle)
    if done.left:
        stopped = f"after {plan.asked.fail_fast:,} failures, {done.left:,} cases were not run"
        print_line(f"stopped  {stopped}: add --resume to go on")
    print_line(f"next     {next_command(done.bundle, done.met)}")
    if not done.met:
        raise typer.Exit(1)
    if done.unjudged:
        names, cells = ", ".join(done.unjudged), done.bundle.of(DistributionResult)
        n = len(done.bundle.cases) + len(cells)
        print_line(f"nothing was judged on {names}: all of {n:,} cases skipped")
        raise typer.Exit(2)
    if done.absent and not shown.if_available:
        print_line(f"{len(done.absent)} of the backends do not run here: exit status 2")
        raise typer.Exit(2)


def counts(done: Bundle) -> str:
    """Return the counts of a bundle as JSON."""
    summary = Summary.model_validate(visible(summarize(done).model_dump()))
    return summary.model_dump_json(indent=2)


def interrupted(pace: Pace | None, folder: Path, named: bool) -> Interrupted:
    """Return the last message of an interrupted run."""
    if pace is None:
        return Interrupted("interrupted before anything was done")
    where = "" if named else f"-o {shlex.quote(str(folder))} "
    return Interrupted(f"interrupted after {pace.done:,} of {pace.total:,}: add {where}--resume")
