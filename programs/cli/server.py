"""The commands about servers: `server check`, `server fingerprint`, `server start`."""

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.cli import options
from sampler_parity.harness.cli.folders import dated
from sampler_parity.harness.cli.output import line_target, lines_to, print_line, warn, write_data
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import phase
from sampler_parity.harness.sanitize import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sampler_parity.programs.servers.causes import Cause
    from sampler_parity.programs.servers.client import Client
    from sampler_parity.programs.servers.dialects import Dialect
    from sampler_parity.programs.servers.run import CheckGroup
    from sampler_parity.programs.servers.server_record import ServerResult

Url = Annotated[str, typer.Argument(metavar="URL", help="e.g. http://127.0.0.1:8080")]
Model = Annotated[str, typer.Option(help="the name that requests give")]
KeyFrom = Annotated[str, typer.Option(metavar="VARIABLE", help="environment variable with the key")]
Remote = Annotated[
    bool, typer.Option("--remote", help="the server is another machine", show_default=False)
]
_SPEED = "also measure tokens per second and the time between them, at 1, 8 and 32 clients"
Speed = Annotated[bool, typer.Option("--speed", help=_SPEED, show_default=False)]

_SILENCE_S = 4.0  # below the five seconds after which a phase is named once
_FLAGS = "the flags that set the server's defaults, e.g. '--temp 0.6 --top-k 20'"
_MODEL_FILE = "its model, whose metadata set defaults: a GGUF file or generation_config.json"
_GOLDEN = "the server runs golden/model/small.gguf: predict every token"
_BUILD = "with --golden: of llama.cpp, that decodes as the server does [default: the installed one]"
_ONLY = "only these parameters and results"
_QUICK = "one value of each parameter, the choices, and 16 clients at once"
_CLIENTS = "most requests in flight, on a ladder of 2, 4, 8 ... [default: 64; with --quick 16]"
PerChain = Annotated[
    int, typer.Option(min=1, max=limits.ROUNDS, help="requests of each predicted chain")
]

server_app = typer.Typer(no_args_is_help=True, help="Servers: what one does with each parameter.")


@server_app.command("check")
def server_check(
    url: Url,
    dialect: Annotated[str, typer.Option("--dialect", "-d", help="its dialect")],
    model: Model = "",
    eos: Annotated[
        int | None, typer.Option(min=0, max=limits.VOCAB, help="the token that ends a text")
    ] = None,
    flags: Annotated[str, typer.Option(metavar="FLAGS", help=_FLAGS)] = "",
    model_file: Annotated[Path | None, typer.Option(metavar="FILE", help=_MODEL_FILE)] = None,
    golden: Annotated[bool, typer.Option("--golden", help=_GOLDEN, show_default=False)] = False,
    build: Annotated[str, typer.Option(help=_BUILD)] = "",
    each: PerChain = 9,
    only: Annotated[str, typer.Option(metavar="NAME,...", help=_ONLY)] = "",
    quick: Annotated[bool, typer.Option("--quick", help=_QUICK, show_default=False)] = False,
    clients: Annotated[int | None, typer.Option(min=1, max=1024, help=_CLIENTS)] = None,
    key_from: KeyFrom = "",
    remote: Remote = False,
    speed: Speed = False,
    timeout: options.Timeout = 60.0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the bundle")] = None,
) -> None:
    """Ask a server what it does with each parameter of its dialect, and write a bundle. Causes come
    first: parameters without effect, and a seed that does not repeat.

    Examples:
      sampler-parity server check http://127.0.0.1:8080 --dialect llama-server
      sampler-parity server check http://127.0.0.1:8000 --dialect vllm --model my/model
      sampler-parity server check http://127.0.0.1:8080 --dialect llama-server --golden
      sampler-parity server check http://127.0.0.1:8080 --dialect openai --only top_p,seed

    Exit status: 0 all is as documented; 1 something is not; 2 bad input.
    """
    from sampler_parity.programs.servers.address import address_of
    from sampler_parity.programs.servers.causes import by_cause, cause_lines
    from sampler_parity.programs.servers.client import Client
    from sampler_parity.programs.servers.connection import reached
    from sampler_parity.programs.servers.defaults import check_defaults, defaults_of, fit
    from sampler_parity.programs.servers.endpoints import check_endpoints
    from sampler_parity.programs.servers.model_metadata import metadata_of
    from sampler_parity.programs.servers.oracle.registry import oracle_of_dialect
    from sampler_parity.programs.servers.run import (
        ServerCheck,
        groups_of,
        met,
        required,
        run_checks,
        token_by_token,
    )
    from sampler_parity.programs.servers.tools import check_tools

    if build and not golden:
        raise InputError("--build", "works only with the golden model", "add --golden")
    spoken = dialect_of(dialect)
    groups = groups_of(speed, quick, clients)
    selected = names_of(only, spoken) if only else frozenset()
    if golden:
        oracle = oracle_of_dialect(dialect, build, each)
        predicted = token_by_token(oracle, dialect)
        groups = (*(partial(_stating, group) for group in predicted), *groups)
        eos = oracle.model.vocab.eos if eos is None else eos
    address = address_of(url, key_from, remote)
    metadata = metadata_of(model_file) if model_file else None
    reached(address, timeout)
    defaults = defaults_of(address, spoken, timeout, flags, metadata)
    checks = (check_defaults, *(() if quick else (check_endpoints,)), check_tools)
    further = (partial(check, defaults=defaults) for check in checks)
    groups = (*further, *groups)
    eos = defaults.eos if eos is None else eos
    spoken = fit(spoken, defaults)
    client = Client(address, spoken, model, eos, timeout, only=selected, quick=quick)
    folder = output or dated("server")
    words = ["sampler-parity", *sys.argv[1:]]
    client.traffic.beat = beat = Heartbeat()
    check = ServerCheck(dialect, client, groups)
    bundle = run_checks(check, folder, words, beat.shown, show_causes)
    for line in cause_lines(by_cause(bundle, spoken)):
        print_line(line)
    print_line(f"server   {required(bundle)}, {client.traffic.requests} requests - {folder}")
    if not met(bundle):
        raise typer.Exit(1)


def _stating(group: "CheckGroup", client: "Client") -> "Iterator[ServerResult]":
    from sampler_parity.programs.servers.defaults import stating

    yield from group(stating(client))


@server_app.command("fingerprint")
def server_fingerprint(
    url: Url,
    dialect: Annotated[
        str, typer.Option("--dialect", "-d", help="its dialect; default: detected")
    ] = "",
    model: Model = "",
    key_from: KeyFrom = "",
    remote: Remote = False,
    timeout: options.Timeout = 10.0,
    seconds: Annotated[
        float, typer.Option(min=1, max=limits.SECONDS, help="most seconds of all requests together")
    ] = 50.0,
    json: Annotated[
        Path | None, typer.Option(help="write it to this file; -: print it alone")
    ] = None,
) -> None:
    """Find a server's sampler order and meanings, and the engine that it resembles.

    Examples:
      sampler-parity server fingerprint http://127.0.0.1:8080
      sampler-parity server fingerprint http://127.0.0.1:8000 --dialect openai --model my/model

    Exit status: 0 done, whatever was found; 2 bad input.
    """
    from sampler_parity.programs.servers.address import address_of
    from sampler_parity.programs.servers.client import Client
    from sampler_parity.programs.servers.connection import reached
    from sampler_parity.programs.servers.fingerprint.fingerprint import fingerprint
    from sampler_parity.programs.servers.fingerprint.format import last_lines, statement_line
    from sampler_parity.programs.servers.fingerprint.self_report import dialect_name, self_report

    address = address_of(url, key_from, remote)
    requested = dialect_of(dialect) if dialect else None
    reached(address, timeout)
    itself = self_report(address, timeout)
    spoken = requested or dialect_of(dialect_name(address, itself))
    client = Client(address, spoken, model or itself.model, seconds=timeout)
    with lines_to(line_target(json, False)):
        result = fingerprint(
            client, itself.text, lambda statement: print_line(statement_line(statement)), seconds
        )
        for line in last_lines(result):
            print_line(line)
    if json is not None:
        write_data(json, result.model_dump_json(indent=2))


@server_app.command("start")
def server_start(
    names: Annotated[list[str] | None, typer.Argument(metavar="SERVER...")] = None,
    each: PerChain = 9,
    speed: Speed = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="their folder")] = None,
    report: Annotated[Path, typer.Option(help="folder of the report")] = Path("report"),
) -> None:
    """Start real servers on the golden model, one after the other, check them, and write a report.

    Examples:
      sampler-parity server start
      sampler-parity server start llama-server --each 2

    Exit status: 0 all is as required; 1 something is not, or a server that was named does not
    start; 2 bad input.
    """
    from sampler_parity.harness.sanitize.near import meant
    from sampler_parity.programs.servers.launch import missing, real_servers
    from sampler_parity.reports.write import write_report

    folder, real = output or dated("servers"), real_servers()
    for name in names or ():
        if name not in real:
            raise InputError(f"server {name!r}", "unknown", meant(name, real))
    right = True
    bundles = []
    for name in names or real:
        if why := missing(real[name]):
            print_line(f"server   {name} not here: {why}")
            right = right and not names
            continue
        right = _checked(name, folder / name, each, speed) and right
        bundles.append(folder / name)
    if bundles:
        print_line(f"report   {write_report(bundles, report, ['json', 'md', 'html', 'junit'])[-1]}")
    if not (bundles and right):
        raise typer.Exit(1)


def _checked(name: str, folder: Path, per_chain: int, speed: bool) -> bool:
    """Start and check a server; return whether it is as required."""
    from sampler_parity.harness.inputs.models import GOLDEN, model_path
    from sampler_parity.programs.servers.launch import real_servers, started
    from sampler_parity.programs.servers.run import check_of_started, met, required, run_checks

    start = time.monotonic()
    real = real_servers()[name]
    with started(real, model_path(GOLDEN)) as address:
        check = check_of_started(real, address, per_chain, speed)
        check.client.traffic.beat = beat = Heartbeat()
        print_line(f"server   {name} at {address.url}")
        bundle = run_checks(check, folder, ["sampler-parity", *sys.argv[1:]], beat.shown)
    seconds = time.monotonic() - start
    print_line(f"server   {name}: {required(bundle)}, {seconds:.0f} s - {folder}")
    return met(bundle)


def dialect_of(name: str) -> "Dialect":
    """Return the dialect of a name. Raises InputError."""
    from sampler_parity.harness.sanitize.near import did_you_mean, meant
    from sampler_parity.programs.servers.dialects import DIALECTS

    if name not in DIALECTS:
        close = did_you_mean(name, DIALECTS, {"llama": "llama-server"})
        raise InputError(f"dialect {name!r}", "unknown", close or meant(name, DIALECTS))
    return DIALECTS[name]


class Heartbeat:
    """Print the number of requests on stderr, when no line came for some seconds."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    def __call__(self, requests: int) -> None:
        if time.monotonic() - self._at >= _SILENCE_S:
            self._at = time.monotonic()
            warn(f"working  {phase.name()}, {requests:,} requests")

    def shown(self, result: "ServerResult") -> None:
        self._at = time.monotonic()
        shown(result)


def names_of(only: str, dialect: "Dialect") -> frozenset[str]:
    """Return the names of results in a list with commas. Raises InputError."""
    from sampler_parity.harness.sanitize.near import meant
    from sampler_parity.programs.servers.run import names_of_results

    known, names = names_of_results(dialect), [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise InputError(f"--only {name!r}", "is no result of this dialect", meant(name, known))
    return frozenset(names)


def show_causes(causes: "list[Cause]") -> None:
    """Print the first causes, a line each."""
    from sampler_parity.programs.servers.causes import MOST

    for cause in causes[:MOST]:
        print_line(f"cause    {cause.line}")
    if rest := causes[MOST:]:
        print_line(f"cause    and {len(rest)} more: {', '.join(cause.name for cause in rest)}")


def shown(result: "ServerResult") -> None:
    """Print a result on one line."""
    failed = not result.met and result.verdict != "skipped"
    mark = f"  FAILED, relies on {result.cause}" if result.cause else "  FAILED" if failed else ""
    silent = f" (accepted silently: {'; '.join(result.silent)})" if result.silent else ""
    print_line(f"{result.verdict:<14} {result.name:<22} {result.evidence}{silent}{mark}")
