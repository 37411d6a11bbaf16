"""Run all checks of one server and write a bundle."""

import datetime
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path

from sampler_parity.harness.backends import environments
from sampler_parity.harness.bundle import bundle, machine
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import BackendInfo, Footer, RunInfo
from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.engines.engine_file import Server
from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.verdicts import ServerVerdict
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.causes import Cause, attributed, first_look
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.clients import MOST, MOST_QUICK, check_clients
from sampler_parity.programs.servers.concurrency import check_concurrency
from sampler_parity.programs.servers.context import check_context
from sampler_parity.programs.servers.dialects import DIALECTS, Dialect
from sampler_parity.programs.servers.invariants import INVARIANTS
from sampler_parity.programs.servers.launch import CONTEXT
from sampler_parity.programs.servers.leaks import NAME as LEAKS
from sampler_parity.programs.servers.leaks import Leak, LeakWatch
from sampler_parity.programs.servers.oracle import registry
from sampler_parity.programs.servers.oracle.check import check_tokens
from sampler_parity.programs.servers.oracle.generate import Oracle
from sampler_parity.programs.servers.parameters import check_parameters
from sampler_parity.programs.servers.probabilities import PROBABILITIES, check_probabilities
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.speed import check_speed
from sampler_parity.programs.servers.state import (
    check_answers,
    check_quickly,
    check_state,
    state_tests,
)
from sampler_parity.programs.servers.token_distribution import check_distribution
from sampler_parity.programs.servers.tools import chat_of, tool_tests
from sampler_parity.programs.servers.values import check_values

CheckGroup = Callable[[Client], Iterator[ServerResult]]

# Nonsense may end a server, so the parameters come last, before what holds of all answers.
EVERYWHERE: tuple[CheckGroup, ...] = (
    *(check_probabilities, check_state, check_parameters, check_answers),
)


# What a few requests show, parameters first.
QUICK: tuple[CheckGroup, ...]
QUICK = check_parameters, check_probabilities, check_quickly, check_answers


def groups_of(
    speed: bool = False, quick: bool = False, clients: int | None = None
) -> tuple[CheckGroup, ...]:
    """Return the groups that suit every server. speed: with its speed. clients: requests in flight
    on the last rung of the ladder."""
    most = clients or (MOST_QUICK if quick else MOST)
    ladder = partial(check_clients, most=most)
    # A grammar, the last parameter, ends llama-cpp-python: the ladder comes before, if time allows.
    at = QUICK.index(check_answers) if quick else EVERYWHERE.index(check_parameters)
    groups = QUICK if quick else EVERYWHERE
    return (*((check_speed,) if speed else ()), *groups[:at], ladder, *groups[at:])


def names_of_results(dialect: Dialect) -> list[str]:
    """Return the names of the results of any server of a dialect."""
    rows = [row.name for row in dialect.parameters]
    answers = [f"every answer: {name}" for name in INVARIANTS]
    return [
        *rows,
        "unknown name",
        "clients",
        LEAKS,
        *PROBABILITIES,
        *state_tests(dialect),
        *answers,
        *(tool_tests() if chat_of(dialect) else ()),
    ]


def token_by_token(oracle: Oracle, dialect: str, size: int = 0) -> list[CheckGroup]:
    """Return the groups for a server whose every token an oracle predicts. size: of its context; 0:
    unknown."""
    groups: list[CheckGroup] = [
        partial(check_tokens, oracle=oracle),
        partial(check_values, model=oracle.model),
    ]
    if dialect == "llama-server":
        groups.append(partial(check_concurrency, model=oracle.model))
    if (drawn := registry.random_requests(dialect)) is not None:
        groups.append(partial(drawn, known=oracle.model, size=size))
    return groups


@dataclass(frozen=True)
class ServerCheck:
    """The questions for a server. name: of the server, in the bundle. about: its version. known:
    verdicts that are required in place of `honoured`, by id of the result."""

    name: str
    client: Client
    groups: tuple[CheckGroup, ...] = EVERYWHERE
    about: str = ""
    known: dict[str, tuple[ServerVerdict, ...]] | None = None


def check_of_started(
    real: Server, address: Address, per_chain: int, speed: bool = False
) -> ServerCheck:
    """Return the check of a server that we started on the golden model. per_chain: requests of a
    predicted chain."""
    groups: list[CheckGroup] = []
    if (oracle := registry.oracle_of_server(real.name, per_chain)) is not None:
        groups += token_by_token(oracle, real.dialect, CONTEXT)
        groups.append(partial(check_context, oracle=oracle, size=CONTEXT))
    if (model := registry.model_of_own_generator(real.name)) is not None:
        groups.append(partial(check_distribution, model=model))
        groups.append(partial(check_values, model=registry.with_own_logits(real.name, model)))
    groups += groups_of(speed)
    client = Client(address, DIALECTS[real.dialect], eos=registry.golden_vocab().eos)
    version = environments.folder_of(real.environment).name
    return ServerCheck(real.name, client, tuple(groups), version, real.known)


def run_checks(
    check: ServerCheck,
    folder: Path,
    command: list[str],
    report: Callable[[ServerResult], object],
    report_causes: Callable[[list[Cause]], object] = lambda _: None,
) -> Bundle:
    """Ask everything and write each result as it comes. report_causes: gets the causes of the first
    look. Raises InputError for a folder that already holds a bundle."""
    start = time.monotonic()
    with locked(folder):
        writer = create(folder, _info(check, command))
        count = 0
        watch = LeakWatch(check.client)
        causes = _first_causes(check.client, watch)
        report_causes(causes)
        groups: list[CheckGroup] = [
            partial(_without_leaks, group, watch, report_causes) for group in check.groups
        ]
        for group in (*groups, watch.observe):
            for result in group(check.client):
                if result.group != "endpoint" and not check.client.selects(result.name):
                    continue
                completed = result.model_copy(
                    update={"server": check.name} | _required(check, result)
                )
                completed = attributed(completed, causes, check.client.dialect)
                writer.append(completed)
                report(completed)
                count += 1
        records = {"server": count} if count else {}
        wall_s = time.monotonic() - start
        writer.close(Footer(cases=0, steps=0, wall_s=wall_s, records=records))
    return bundle.read_finished(folder)


def _first_causes(client: Client, watch: LeakWatch) -> list[Cause]:
    """Look at the server, and once more with a parameter stated that leaked meanwhile."""
    with phase("first look"):
        causes = first_look(client)
        leak = watch.find()
    return causes if leak is None else [_cause(leak), *first_look(client)]


def _cause(leak: Leak) -> Cause:
    return Cause(f"state/{LEAKS}", leak.name, leak.line)


def _without_leaks(
    group: CheckGroup, watch: LeakWatch, report: Callable[[list[Cause]], object], client: Client
) -> Iterator[ServerResult]:
    """Yield the results of a group. After a leak the group starts again, with the parameter stated:
    a result that failed only before is listed under the leak."""
    failing: dict[str, ServerResult] = {}
    ids = set[str]()
    while True:
        for result in group(client):
            # Exact tokens show leaks. llama-cpp-python ends a stream at another request.
            leak = watch.find() if result.group != "exact" else None
            if leak is not None and not result.met:
                failing[result.id] = result.model_copy(update={"cause": f"state/{LEAKS}"})
            elif result.id not in ids:
                ids.add(result.id)
                yield failing[result.id] if result.met and result.id in failing else result
            if leak is not None:
                report([_cause(leak)])
                break
        else:
            return


def met(checked: Bundle) -> bool:
    """Return whether something was asked, and all of it is as required."""
    return bool(_judged(checked)) and all(_judged(checked))


def required(checked: Bundle) -> str:
    """Format the total, like "178/180 as required"."""
    return f"{sum(_judged(checked))}/{len(_judged(checked))} as required"


def _judged(checked: Bundle) -> list[bool]:
    """Return for each result that is not skipped whether it is as required."""
    return [result.met for result in checked.of(ServerResult) if result.verdict != "skipped"]


def _required(check: ServerCheck, result: ServerResult) -> dict[str, list[ServerVerdict]]:
    """Require a known verdict in place of the right one, so that a fixed server is noticed."""
    verdicts = (check.known or {}).get(result.id)
    return {"required": [*verdicts]} if verdicts else {}


def _info(check: ServerCheck, command: list[str]) -> RunInfo:
    client = check.client
    about = BackendInfo(
        command=[client.address.url],
        name=client.dialect.name,
        version=check.about or client.dialect.name,
    )
    return RunInfo(
        version=version_of("sampler-parity"),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=command,
        suites={},
        profile="full",
        seed=0,
        options={"dialect": client.dialect.name, "model": client.model},
        backends={check.name: about},
        machine=machine.describe(),
    )
