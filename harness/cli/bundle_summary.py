"""The summary of a finished bundle, and the next command, as commands print them."""

import shlex

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import CounterexampleResult
from sampler_parity.harness.checks.repeat import report_lines as repeat_lines
from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.correct.bias import biases, wide
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.failures.misplaced import notes
from sampler_parity.harness.verdicts import Verdict

_ROUNDED: tuple[Verdict, ...] = ("boundary", "close", "tied", "reordered")


def show(bundle: Bundle) -> None:
    """Print the summary of a bundle, and its folder."""
    from sampler_parity.reports.page import summary_lines

    for line in (
        *repeat_lines(bundle.cases),
        *map(str, biases(bundle.cases)),
        *map(str, wide(bundle.cases)),
    ):
        print_line(line)
    for line in summary_lines(bundle):
        print_line(line)
    for line in notes(bundle):
        print_line(line)
    print_line(f"bundle   {bundle.folder}")


def next_command(bundle: Bundle, met: bool) -> str:
    """Return the next command: explain the worst failure, or accept roundings if there is nothing
    else; without a failure `report`, or `gate` after a complete run of the full profile."""
    folder = str(bundle.folder)
    small = bundle.of(CounterexampleResult)
    failures = groups(bundle.info, bundle.cases, small)  # in the order of the summary
    failed = [group for group in failures if group.verdict != "skipped"]
    rounded = {*_ROUNDED}.issuperset(group.verdict for group in failed)
    if failed and rounded and bundle.cases[0].accept == "identical":
        return "run again with --accept correct: each failure may be a rounding or an order alone"
    if failed:
        return shlex.join(["sampler-parity", "explain", folder, failed[0].example.case])
    if any(case.refusal or case.unmet for case in bundle.cases):
        return shlex.join(["sampler-parity", "explain", folder])
    complete = met and bundle.info.profile == "full" and not bundle.info.only
    return shlex.join(["sampler-parity", "gate" if complete else "report", folder])
