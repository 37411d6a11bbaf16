"""The command `predict`."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.cli import complete, options
from sampler_parity.harness.cli.output import line_target, lines_to, print_line, warn, write_data
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize import limits

if TYPE_CHECKING:
    from sampler_parity.harness.checks.stages.predict import Prediction
    from sampler_parity.harness.run.plan import Plan

_MOST_CASES = 3  # cases; above, a table is shown in place of each
_REPORT_S = 10.0  # between two lines of progress, as in a run


def predict_command(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="CASE...", help="ids, patterns, or suites", autocompletion=complete.suites
        ),
    ],
    platform: Annotated[
        list[str] | None, typer.Option(help="default: all of docs/background/platforms.md")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=limits.WHOLE, help="shifts the random suites")
    ] = 0,
    json: Annotated[
        Path | None, typer.Option(help="write the answers to this file; -: print them alone")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="a bundle; `report` makes a page of it"),
    ] = None,
    jobs: options.Jobs = 0,
) -> None:
    """Predict from the reference whether a case repeats on other platforms; nothing runs there.

    Examples:
      sampler-parity predict top_p/crossing-token-is-kept --platform macos-arm64
      sampler-parity predict 'typical_p/*' --platform wasm --platform linux-arm64-gcc
      sampler-parity predict parity/mirostat
      sampler-parity predict texts parity/mirostat -o bundles/predicted

    Exit status: 0 every token repeats, or every bit if none is drawn; 1 not; 2 bad input.
    """
    import shlex
    from dataclasses import asdict
    from json import dumps

    from sampler_parity.harness.checks.stages.predict import predict
    from sampler_parity.reference import ChainError
    from sampler_parity.reference.platforms import DEFAULT, PLATFORMS, platform_of

    try:
        platforms = [platform_of(name).name for name in platform or PLATFORMS if name != DEFAULT]
    except ChainError as error:
        raise InputError("--platform", str(error)) from None
    plan = _plan(names, seed, jobs)
    if output is None:
        answers = [answer for item in plan.items for answer in predict(item.check, platforms)]
    else:
        answers = _into(output, plan, platforms)
    if json is not None:
        write_data(json, dumps([asdict(answer) for answer in answers], indent=2))
    with lines_to(line_target(json, False)):
        lines = _each if len(plan.items) <= _MOST_CASES else _table
        for line in lines(answers, DEFAULT):
            print_line(line)
        if output is not None:
            print_line(f"bundle   {output}")
            print_line(f"next     sampler-parity report {shlex.quote(str(output))}")
    if not all(answer.repeats for answer in answers):
        raise typer.Exit(1)


def _plan(names: Sequence[str], seed: int, jobs: int) -> "Plan":
    """Return a plan of the cases that can be predicted. Raises InputError if none can."""
    from sampler_parity.harness.checks.stages.predict import PREDICTED
    from sampler_parity.harness.run.plan import RunOptions, plan_of
    from sampler_parity.harness.suite.ids import shipped, suites_of_cases

    suite_names = {name for suite in shipped() for name in (suite, suite.partition("/")[0])}
    suites = [name for name in names if name in suite_names or Path(name).exists()]
    only = [name for name in names if name not in suites]
    wholes = [RunOptions(suites, ["reference"], seed=seed, jobs=jobs)] if suites else []
    if only:
        of_cases = suites_of_cases(only) or ["parity"]
        wholes += [RunOptions(of_cases, ["reference"], only=tuple(only), seed=seed, jobs=jobs)]
    plans = [plan_of(run_options) for run_options in wholes]
    items = {item.id: item for plan in plans for item in plan.items if item.kind.name in PREDICTED}
    if not items:
        problem = "nothing to predict: a case needs fixed logits and seeds"
        raise InputError(" ".join(names), problem, "`sampler-parity list cases` has the ids")
    digests = {name: digest for plan in plans for name, digest in plan.suites.items()}
    paths = {name: path for plan in plans for name, path in plan.paths.items()}
    return replace(plans[0], items=[*items.values()], suites=digests, paths=paths)


def _into(output: Path, plan: "Plan", platforms: "list[str]") -> "list[Prediction]":
    """Predict the cases of a plan, and write each prediction as it comes."""
    from sampler_parity.harness.run.predicting import predict_into

    finished, total, last = 0, len(plan.items), time.monotonic()

    def advance(cases: int) -> None:
        nonlocal finished, last
        finished += cases
        if time.monotonic() - last >= _REPORT_S:
            last = time.monotonic()
            warn(f"predicted {finished:,} of {total:,} cases")

    return predict_into(output, plan, platforms, advance)[1]


def _each(answers: "Sequence[Prediction]", default: str) -> Iterator[str]:
    for answer in answers:
        yield f"{answer.case}  {answer.platform}: {_outcome(answer, default)}"
        if first := answer.first:
            by = ", ".join(first.operations) or "several operations together"
            where = f"step {first.step}, stage {first.stage} ({first.sampler})"
            yield f"  first at {where}: {first.what}"
            yield f"    {default} {first.baseline}, {answer.platform} {first.compared}"
            yield f"    {first.sampler}: {by}"
        for what in answer.unknown:
            yield f"  not known: {what}"


def _outcome(answer: "Prediction", default: str) -> str:
    caveat = ", as far as is known" if answer.unknown else ""
    if answer.bits:
        return f"as on {default} to the bit{caveat}"
    if answer.tokens is None:
        what = "bits" if answer.order else "order" if answer.survivors else "survivors"
        return f"other {what} than on {default}; no token is drawn"
    if answer.tokens:
        return f"the tokens of {default}, other bits{caveat}"
    return f"other tokens than on {default}"


def _table(answers: "Sequence[Prediction]", default: str) -> Iterator[str]:
    """Yield for each platform and sampler how many cases repeat, and the causes of differences."""
    for platform in dict.fromkeys(answer.platform for answer in answers):
        there = [answer for answer in answers if answer.platform == platform]
        yield f"{platform}: of {len(there)} cases as on {default}"
        for label, sampler in [("all", None), *((s, s) for s in _differing(there))]:
            selected = [a for a in there if sampler is None or sampler in a.samplers]
            yield f"  {label:<14} {', '.join(_counted(selected))}"
        by = Counter(
            f"{a.first.sampler}: {' + '.join(a.first.operations) or 'several together'}"
            for a in there
            if a.first
        )
        for operation, n in by.most_common():
            yield f"    {n} by {operation}"
        for what in dict.fromkeys(what for a in there for what in a.unknown):
            yield f"    not known: {what}"


def _counted(answers: "Sequence[Prediction]") -> Iterator[str]:
    """Yield n/N repeating cases for each fact that they have: not every case draws tokens."""
    for fact in _FACTS:
        repeats = [value for a in answers if (value := getattr(a, fact)) is not None]
        yield f"{sum(repeats)}/{len(repeats)} {fact}"


_FACTS = ("bits", "order", "survivors", "tokens")


def _differing(answers: "Sequence[Prediction]") -> list[str]:
    """Return the samplers at which cases differ."""
    return sorted({answer.first.sampler for answer in answers if answer.first})
