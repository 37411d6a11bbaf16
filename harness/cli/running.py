"""What the commands that write a bundle do beside it: progress, summary, exit status."""

from pathlib import Path

import typer

from sampler_parity.harness.bundle.bundle import Bundle, done_ids
from sampler_parity.harness.bundle.summary import Summary, summarize
from sampler_parity.harness.cli.progress import Progress
from sampler_parity.harness.cli.saying import say
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import write_text
from sampler_parity.harness.foreign.printable import visible
from sampler_parity.harness.parity.repeat import said
from sampler_parity.harness.run.plan import Plan, left_out, lines
from sampler_parity.harness.run.run import run


def show_plan(plan: Plan, folder: Path, resume: bool) -> None:
    """Print what would run, of it what is left with `--resume`."""
    for line in lines(plan, done_ids(folder) if resume else set()):
        say(line)


def run_and_report(
    plan: Plan, folder: Path, resume: bool, json: Path | None, if_available: bool
) -> None:
    """Run, then say what came out: by the exit status, too."""
    for line in left_out(plan):
        say(line)
    done = run(plan, folder, resume, Progress, say)
    if done.bundle is None:
        name, reason = next(iter(done.absent.items()))
        if not if_available:
            raise InputError(f"backend {name}", f"does not run here: {reason}")
        say(f"nothing was run: backend {name} does not run here: {reason}")
        return
    if json is not None:
        write_counts(done.bundle, json)
    show(done.bundle)
    if not done.met:
        raise typer.Exit(1)
    if done.absent and not if_available:
        say(f"{len(done.absent)} of the backends do not run here: exit status 2")
        raise typer.Exit(2)


def show(done: Bundle) -> None:
    """The summary of a bundle, and where it lies."""
    from sampler_parity.reports.write import summary_lines  # loads every page

    for line in said(done.cases):
        say(line)
    for line in summary_lines(done):
        say(line)
    say(f"bundle   {done.folder}")


def write_counts(done: Bundle, path: Path) -> None:
    counts = Summary.model_validate(visible(summarize(done).model_dump()))
    write_text(path, counts.model_dump_json(indent=2) + "\n")
