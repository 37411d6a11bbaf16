"""Run a plan for a command: progress, summary, next command, exit status."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import typer

from sampler_parity.harness.bundle.bundle import Bundle, Summary, done_ids, summarize
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
    """How a run is reported. json: file for its counts. output_given: the user named the folder."""

    json: Path | None = None
    if_available: bool = False
    quiet: bool = False
    verbose: bool = False
    output_given: bool = True


def run_and_report(plan: Plan, folder: Path, resume: bool, reporting: RunOutput) -> None:
    """Run a plan and print its outcome. Raises Exit for statuses 1 and 2."""
    for line in left_out(plan):
        print_line(line)
    progress = Progress(reporting.quiet, reporting.verbose)
    try:
        finished = run(plan, folder, resume, progress, print_line)
    except KeyboardInterrupt:
        raise interrupted(progress.pace, folder, reporting.output_given) from None
    if finished.bundle is None:
        name, reason = next(iter(finished.unavailable.items()))
        if not reporting.if_available:
            raise InputError(f"backend {name}", f"does not run here: {reason}")
        print_line(f"nothing was run: backend {name} does not run here: {reason}")
        return
    if reporting.json is not None:
        write_data(reporting.json, counts(finished.bundle))
    show(finished.bundle)
    if finished.not_run:
        failures = f"{plan.run_options.fail_fast:,} failures"
        stopped = f"after {failures}, {finished.not_run:,} cases were not run"
        print_line(f"stopped  {stopped}: add --resume to go on")
    print_line(f"next     {next_command(finished.bundle, finished.met)}")
    if not finished.met:
        raise typer.Exit(1)
    if finished.unjudged:
        names, cells = ", ".join(finished.unjudged), finished.bundle.of(DistributionResult)
        n = len(finished.bundle.cases) + len(cells)
        print_line(f"nothing was judged on {names}: all of {n:,} cases skipped")
        raise typer.Exit(2)
    if finished.unavailable and not reporting.if_available:
        print_line(f"{len(finished.unavailable)} of the backends do not run here: exit status 2")
        raise typer.Exit(2)


def counts(bundle: Bundle) -> str:
    """Return the counts of a bundle as JSON."""
    summary = Summary.model_validate(visible(summarize(bundle).model_dump()))
    return summary.model_dump_json(indent=2)


def interrupted(pace: Pace | None, folder: Path, output_given: bool) -> Interrupted:
    """Return the last message of an interrupted run."""
    if pace is None:
        return Interrupted("interrupted before anything was done")
    where = "" if output_given else f"-o {shlex.quote(str(folder))} "
    return Interrupted(f"interrupted after {pace.done:,} of {pace.total:,}: add {where}--resume")
