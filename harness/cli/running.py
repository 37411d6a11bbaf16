"""Run a plan for a command: progress, summary, next command, exit status."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import typer

from sampler_parity.harness.bundle.bundle import Bundle, done_ids
from sampler_parity.harness.bundle.records.counterexample import CounterexampleResult
from sampler_parity.harness.bundle.summary import Summary, summarize
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.repeat import report_lines as repeat_lines
from sampler_parity.harness.cli.output import print_line, write_data
from sampler_parity.harness.cli.progress import Progress
from sampler_parity.harness.correct.bias import biases
from sampler_parity.harness.correct.narrower import wide
from sampler_parity.harness.errors import InputError, Interrupted
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.run.pace import Pace
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


def show(done: Bundle) -> None:
    """Print the summary of a bundle, and its folder."""
    from sampler_parity.reports.write import summary_lines  # loads every page

    for line in (
        *repeat_lines(done.cases),
        *map(str, biases(done.cases)),
        *map(str, wide(done.cases)),
    ):
        print_line(line)
    for line in summary_lines(done):
        print_line(line)
    print_line(f"bundle   {done.folder}")


def counts(done: Bundle) -> str:
    """Return the counts of a bundle as JSON."""
    summary = Summary.model_validate(visible(summarize(done).model_dump()))
    return summary.model_dump_json(indent=2)


def next_command(done: Bundle, met: bool) -> str:
    """Return the next command: explain the worst failure; without one `report`, or `gate` after a
    complete run of the full profile."""
    folder = str(done.folder)
    small = done.of(CounterexampleResult)
    failures = groups(done.info, done.cases, small)  # in the order of the summary
    failed = [group for group in failures if group.verdict != "skipped"]
    if failed:
        return shlex.join(["sampler-parity", "explain", folder, failed[0].example.case])
    whole = met and done.info.profile == "full" and not done.info.only
    return shlex.join(["sampler-parity", "gate" if whole else "report", folder])


def interrupted(pace: Pace | None, folder: Path, named: bool) -> Interrupted:
    """Return the last message of an interrupted run."""
    if pace is None:
        return Interrupted("interrupted before anything was done")
    where = "" if named else f"-o {shlex.quote(str(folder))} "
    return Interrupted(f"interrupted after {pace.done:,} of {pace.total:,}: add {where}--resume")
