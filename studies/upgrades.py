"""Measure whether `sampler-parity upgrade` names the known changes between releases of llama.cpp,
from the settings of users alone, and is silent where none is known.

`python -m studies.upgrades` asks the reference of each release; `... --native` the builds that are
registered. The users are in upgrades.toml. Exit status 1: fewer than 18 changes are named, or a
pair without a change is not silent.
"""

import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.meanings import Wanted, needed, same, wanted_of
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.recorded import builds_folder, find
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.upgrade.answer import UpgradeAnswer, answer, lines
from sampler_parity.harness.upgrade.cases import generated
from sampler_parity.harness.upgrade.compare import version_of
from sampler_parity.reference import ChainError
from sampler_parity.reference.chronology import NEWEST, OLDEST, SEEN, order
from sampler_parity.reference.pipelines.common_chain import SamplingParams, default_chain
from sampler_parity.reference.releases import CHANGES, Change, changes_of, samplers_of

REQUIRED = 18
ASKED = 80  # cases of an answer that the reference explains
Chain = list[dict[str, dict[str, Any]]]
Row = tuple[str, str, str, str]  # change, releases, user, answer

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def users(sampler: str) -> list[Chain]:
    """Return the chains of the users of a sampler."""
    dist: Chain = [{"dist": {"seed": 42}}]
    draws = sampler in ("dist", "greedy", "mirostat", "mirostat_v2")
    chains: list[Chain] = TABLES["users"].get(sampler, [])
    return [chain if draws else [*chain, *dist] for chain in chains]


def everyone() -> dict[str, Chain]:
    """Return all users by name, and the user of llama-server's defaults."""
    named = {f"{s} {i + 1}": c for s in TABLES["users"] for i, c in enumerate(users(s))}
    return named | {"defaults": default_chain(SamplingParams(seed=42), n_vocab=0)}


def names(chain: Chain) -> list[str]:
    return [name for stage in chain for name in stage]


def cases_of(chain: Chain) -> list[StagesCase]:
    return generated(Path("chain.toml"), chain)


def known_changes() -> dict[str, tuple[tuple[str, ...], str, str]]:
    """Return samplers, the last old and the first new release of each known change."""
    rows = {c.name: (c.samplers, c.last_old, c.first_new) for c in CHANGES}
    removed = {f"{name}-removed": ((name,), *pair) for name, pair in TABLES["removed"].items()}
    return {**rows, **removed}


def explained(chain: Chain, found: UpgradeAnswer, old: str, new: str) -> set[str]:
    """Return the known changes that explain the cases that an answer lists: of each case those that
    cannot be left out, by the reference. old, new: releases."""
    cases = {case.id: case for case in cases_of(chain)}
    explaining: set[str] = set()
    before, after = ({*changes_of(release, names(chain))} for release in (old, new))
    between = [change for change in CHANGES if change in before ^ after]
    some = found.shifts[:: max(1, len(found.shifts) // ASKED)]
    for shift in some:
        if shift.what == "answer" and f"{shift.sampler}-removed" in known_changes():
            explaining.add(f"{shift.sampler}-removed")
        if explaining.issuperset(change.name for change in between):
            break
        explaining |= {change.name for change in why(prepare(cases[shift.case]), between, after)}
    return explaining


def why(ready: Prepared, between: list[Change], after: set[Change]) -> list[Change]:
    def result(some: Sequence[Change]) -> Wanted:
        meant: Any = samplers_of(after ^ {*some}, ALL_SAMPLERS)
        return wanted_of(replace(ready, samplers=meant))

    def enough(some: Sequence[Change]) -> bool:
        got = result(some)
        return want.refusal == got.refusal and same(
            replace(want, refusal=""), replace(got, refusal="")
        )

    want = result(between)
    return needed(between, enough)


def changes(engine: str, pairs: dict[str, tuple[str, str]], some: dict[str, str]) -> Iterator[Row]:
    """Yield each change with its pair, the user that shows it, and the answer. The users of its
    samplers are asked first, then the others with one of them in the chain, until one shows it."""
    done: dict[tuple[str, str, str], tuple[UpgradeAnswer, set[str]]] = {}
    for change, (samplers, _, _) in known_changes().items():
        if change not in pairs:
            continue
        old, new = pairs[change]
        own = [name for name in everyone() if name.rpartition(" ")[0] in samplers]
        for user in dict.fromkeys([*own, *everyone()]):
            chain = everyone()[user]
            if not {*samplers} & {*names(chain)}:
                continue
            key = (old, new, user)
            if key not in done:
                ends = (version_of(f"{engine}@{some[release]}") for release in (old, new))
                try:
                    found = answer(cases_of(chain), *ends)
                except InputError:  # neither release has the sampler
                    continue
                done[key] = found, explained(chain, found, old, new)
                print(*key, *done[key][1], file=sys.stderr, flush=True)
            if change in done[key][1]:
                yield change, f"{old} -> {new}", user, "; ".join(lines(done[key][0]))
                break
        else:
            yield change, f"{old} -> {new}", "", "not named"


def releases() -> list[str]:
    ends = {end for change in CHANGES for end in (change.last_old, change.first_new)}
    return sorted({*ends, OLDEST, NEWEST, "v0.4.0", SEEN}, key=order)


def silent_pairs(chain: Chain, some: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the ends of each stretch of releases without a change for a chain."""

    def meaning(release: str) -> object:
        try:
            changed = changes_of(release, names(chain))
        except ChainError:
            return release
        return changed, all(has(name, release) for name in names(chain))

    stretch: list[str] = []
    for release, following in pairwise([*some, ""]):
        if all(has(name, release) for name in names(chain)):
            stretch.append(release)
        if not following or meaning(release) != meaning(following):
            if len(stretch) > 1:
                yield stretch[0], stretch[-1]
            stretch = []


def silences(engine: str, some: dict[str, str]) -> Iterator[tuple[str, str, UpgradeAnswer]]:
    """Yield the answers of pairs without a change. some: releases by version."""
    for user, chain in everyone().items():
        if not user.endswith((" 1", "defaults")):
            continue
        for old, new in silent_pairs(chain, sorted(some, key=order)):
            ends = (version_of(f"{engine}@{some[release]}") for release in (old, new))
            found = answer(cases_of(chain), *ends)
            print(user, old, new, found.changed, file=sys.stderr, flush=True)
            yield user, f"{old} -> {new}", found


def main(arguments: list[str]) -> int:
    native = "--native" in arguments
    engine = "llama.cpp" if native else "reference"
    some = {release: release for release in releases()}
    pairs = {name: (old, new) for name, (_, old, new) in known_changes().items()}
    if native:
        registered = (find(path.parent.name) for path in builds_folder().glob("*/build.json"))
        some = {b.release: b.name for b in registered if b and b.release and not b.platform}
        pairs = {name: around(old, new, [*some]) for name, (old, new) in pairs.items()}
        pairs = {name: pair for name, pair in pairs.items() if all(pair)}
    shown = [*changes(engine, pairs, some)]
    print("| change | releases | user | answer |\n| --- | --- | --- | --- |")
    for row in shown:
        print("|", " | ".join(row), "|", flush=True)
    named = sum(bool(user) for _, _, user, _ in shown)
    print(f"\n{named}/{len(shown)} named\n\n| user | releases | cases |\n| --- | --- | --- |")
    loud = quiet = 0
    for user, pair, found in silences(engine, some):
        loud, quiet = loud + found.changed, quiet + (not found.changed)
        result = f"NOT SILENT {found.stages}" if found.changed else f"{found.cases}, silent"
        print(f"| {user} | {pair} | {result} |", flush=True)
    print(f"\n{quiet}/{quiet + loud} silent")
    return int(bool(loud) or (not native and named < REQUIRED))


def around(old: str, new: str, some: list[str]) -> tuple[str, str]:
    """Return the nearest releases of some around a change; "" where there is none."""
    before = [release for release in some if order(release) <= order(old)]
    after = [release for release in some if order(release) >= order(new)]
    return max(before, key=order, default=""), min(after, key=order, default="")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
