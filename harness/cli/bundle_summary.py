"""The summary of a finished bundle, and the next command, as commands print them."""

import shlex

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.counterexample import CounterexampleResult
from sampler_parity.harness.checks.repeat import report_lines as repeat_lines
from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.correct.bias import biases
from sampler_parity.harness.correct.narrower import wide
from sampler_parity.harness.failures.groups import groups


def show(done: Bundle) -> None:
    """Print the summary of a bundle, and its folder."""
    from sampler_parity.reports.bundle_pages import summary_lines

    for line in (
        *repeat_lines(done.cases),
        *map(str, biases(done.cases)),
        *map(str, wide(done.cases)),
    ):
        print_line(line)
    for line in summary_lines(done):
        print_line(line)
    print_line(f"bundle   {done.folder}")


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
