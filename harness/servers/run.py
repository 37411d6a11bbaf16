"""A check of a server, from the first request to a bundle."""

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
from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.bundle.records.ends import Footer
from sampler_parity.harness.bundle.records.server import ServerResult, ServerVerdict
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.servers.address import Address
from sampler_parity.harness.servers.client import Client
from sampler_parity.harness.servers.concurrency import check_at_once
from sampler_parity.harness.servers.context import check_context
from sampler_parity.harness.servers.dialects import DIALECTS
from sampler_parity.harness.servers.launch import CONTEXT, Real
from sampler_parity.harness.servers.oracle.check import Predicted, check_exact
from sampler_parity.harness.servers.oracle.registry import in_law, predicted, with_own_logits
from sampler_parity.harness.servers.parameters import check_parameters
from sampler_parity.harness.servers.probabilities import check_probabilities
from sampler_parity.harness.servers.speed import check_speed
from sampler_parity.harness.servers.state import check_state
from sampler_parity.harness.servers.token_distribution import check_law
from sampler_parity.harness.servers.values import check_values

Group = Callable[[Client], Iterator[ServerResult]]

# Nonsense may end a server, so the parameters come last.
EVERYWHERE: tuple[Group, ...] = (check_probabilities, check_state, check_parameters)


def groups_of(speed: bool) -> tuple[Group, ...]:
    """What every server is asked; its speed where that is wanted."""
    return ((check_speed,) if speed else ()) + EVERYWHERE


def token_by_token(by: Predicted, dialect: str) -> list[Group]:
    """What is asked of a server whose every token is predicted."""
    groups: list[Group] = [
        partial(check_exact, predicted=by),
        partial(check_values, known=by.known),
    ]
    if dialect == "llama-server":
        groups.append(partial(check_at_once, known=by.known))
    return groups


@dataclass(frozen=True)
class Check:
    """name: of the server, in the bundle. known: verdicts that are required in the place of
    `honoured`, by id of the result."""

    name: str
    client: Client
    groups: tuple[Group, ...] = EVERYWHERE
    about: str = ""
    known: dict[str, tuple[ServerVerdict, ...]] | None = None


def of_real(real: Real, address: Address, each: int, speed: bool = False) -> Check:
    """Of a server that we started on the golden model. each: requests of a predicted chain."""
    eos = read_vocab(model_path(GOLDEN)).eos
    client = Client(address, DIALECTS[real.dialect], eos=eos)
    groups: list[Group] = []
    if (by := predicted(real.name, each)) is not None:
        groups += token_by_token(by, real.dialect)
        groups.append(partial(check_context, predicted=by, size=CONTEXT))
    if (model := in_law(real.name)) is not None:
        groups.append(partial(check_law, known=model))
        groups.append(partial(check_values, known=with_own_logits(real.name, model)))
    groups += groups_of(speed)
    version = environments.folder_of(real.environment).name
    return Check(real.name, client, tuple(groups), version, real.known)


def check(
    asked: Check, folder: Path, command: list[str], say: Callable[[ServerResult], object]
) -> Bundle:
    """Asks all there is to ask, and writes each result as it comes. Raises InputError for a folder
    that holds a bundle already."""
    start = time.monotonic()
    with locked(folder):
        writer = create(folder, _info(asked, command))
        count = 0
        for group in asked.groups:
            for result in group(asked.client):
                named = result.model_copy(update={"server": asked.name} | _let(asked, result))
                writer.append(named)
                say(named)
                count += 1
        records = {"server": count} if count else {}
        wall_s = time.monotonic() - start
        writer.close(Footer(cases=0, steps=0, wall_s=wall_s, records=records))
    return bundle.read_finished(folder)


def met(done: Bundle) -> bool:
    """Whether something was asked, and all of it is as required."""
    return bool(_judged(done)) and all(_judged(done))


def required(done: Bundle) -> str:
    """ "178/180 as required" """
    return f"{sum(_judged(done))}/{len(_judged(done))} as required"


def _judged(done: Bundle) -> list[bool]:
    """Whether each result that is not skipped is as required."""
    return [result.met for result in done.servers if result.verdict != "skipped"]


def _let(asked: Check, result: ServerResult) -> dict[str, list[ServerVerdict]]:
    """Known verdicts are required in the place of the right one: what is mended is seen."""
    verdicts = (asked.known or {}).get(result.id)
    return {"required": [*verdicts]} if verdicts else {}


def _info(asked: Check, command: list[str]) -> RunInfo:
    client = asked.client
    about = BackendInfo(
        command=[client.address.url],
        name=client.dialect.name,
        version=asked.about or client.dialect.name,
    )
    return RunInfo(
        version=version_of("sampler-parity"),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=command,
        suites={},
        profile="full",
        seed=0,
        options={"dialect": client.dialect.name, "model": client.model},
        backends={asked.name: about},
        machine=machine.describe(),
    )
