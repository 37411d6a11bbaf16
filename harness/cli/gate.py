"""The command `sampler-parity gate`."""

import dataclasses
import secrets
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.output import line_target, lines_to, print_line, write_data
from sampler_parity.harness.errors import InputError


def gate_command(
    folder: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    baseline: Annotated[
        Path | None, typer.Option(help="the bundle of the last release, of the same suites")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="default: all as the suites require")] = None,
    backend: Annotated[
        list[str] | None, typer.Option("-b", help="this backend must be in it; may be repeated")
    ] = None,
    suite: Annotated[
        list[Path] | None, typer.Option(help="file of a suite of yours that the run used")
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="findings with ids of this pattern pass; may be repeated"),
    ] = None,
    recompute: Annotated[
        bool, typer.Option(help="expand the suites again: the bundle must hold their cases")
    ] = True,
    replay: Annotated[
        str | None, typer.Option(help="ask the backends this share of the cases again, like 1%")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="of --replay; default: drawn, printed")] = None,
    statement: Annotated[
        Path | None, typer.Option(help="write the outcome as an in-toto statement, to be signed")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="fail unless this statement is what the gate would write")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="write the outcome to this file; -: print it alone")
    ] = None,
    md: Annotated[Path | None, typer.Option(help="append it to this file, as Markdown")] = None,
    verify_files: Annotated[
        bool,
        typer.Option(
            "--verify-files", help="read each backend's files again: are they those of the bundle?"
        ),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge a bundle by a policy: may this release go out?

    Examples:
      sampler-parity gate bundles/mine
      sampler-parity gate bundles/mine --baseline bundles/last --policy gate.toml
      sampler-parity gate bundles/mine -b mine --replay 1% --statement mine.intoto.json

    Exit status: 0 pass; 1 fail; 2 could not judge, or bad input.
    """
    from sampler_parity.harness.bundle.bundle import read_finished
    from sampler_parity.harness.bundle.contradictions import refuse_contradictory
    from sampler_parity.harness.cli.progress import Progress
    from sampler_parity.harness.files import write_text
    from sampler_parity.harness.gate.gate import gate
    from sampler_parity.harness.gate.gate import verify_files as files_again
    from sampler_parity.harness.gate.labels import markdown, terminal_lines
    from sampler_parity.harness.gate.policy import read_policy
    from sampler_parity.harness.gate.statement import difference, released, statement_of
    from sampler_parity.harness.run.asked_again import asked_again, share_of
    from sampler_parity.harness.run.resume_check import recomputed

    share, outcomes = share_of(replay) if replay else 0.0, []
    file = read_policy(policy)
    if backend:
        file = dataclasses.replace(file, policy=file.policy.about(backend))
    if ignore and (statement or verify):
        raise InputError("--ignore", "a statement is of the policy alone", "use [[allow]] there")
    if ignore:
        file = dataclasses.replace(file, policy=file.policy.ignoring(ignore))
    judged = read_finished(folder)
    subjects = released(judged, file.policy) if statement or verify else []
    if recompute:
        refuse_contradictory(judged, today())
        items = recomputed(judged, suite or ())
        if share:
            seed = secrets.randbits(32) if seed is None else seed
            outcomes = [asked_again(judged, items, share, seed, Progress(quiet=True))]
    elif statement or verify or replay or verify_files:
        problem = "the other options need the cases of the suites, expanded again"
        raise InputError("--no-recompute", problem, "omit it")
    outcomes += [files_again(judged)] if verify_files else []
    last = read_finished(baseline) if baseline else None
    result = gate(judged, file, last, today(), outcomes)
    text = statement_of(judged, subjects, result) if subjects else ""
    if statement:
        write_text(statement, text)
    differs = difference(verify, text) if verify else ""
    if json is not None:
        write_data(json, result.model_dump_json(indent=2))
    if md is not None:
        write_text(md, markdown(result), "a")
    with lines_to(line_target(json, quiet)):
        for line in terminal_lines(result):
            print_line(line)
    if differs:
        print_line(
            f"gate     FAILED   {verify} does not match this bundle: {differs} differs   exit 1"
        )
        raise typer.Exit(1)
    if result.exit_status:
        raise typer.Exit(result.exit_status)


def today() -> date:
    return datetime.now(UTC).date()
