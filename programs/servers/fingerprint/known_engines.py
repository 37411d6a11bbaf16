"""Compare a server's statements with those of known engines.

A statement that is undetermined, of the server or of the engine, does not count.
"""

import functools
from collections.abc import Mapping
from pathlib import Path

from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.files import read_table
from sampler_parity.harness.strict import Strict
from sampler_parity.programs.servers.fingerprint.trait import UNDETERMINED

ENOUGH = 8  # statements that are known of both
_LIKE = 0.8  # share of equal ones: with less it resembles nothing known


class KnownEngine(Strict):
    """An engine's statements. observed: from a running server; else from its source code."""

    name: str
    observed: bool = True
    says: dict[str, str]


@functools.cache
def known_engines() -> list[KnownEngine]:
    """Return ours, then those of engines/NAME/fingerprint.toml; last those that were never asked.
    Raises InputError for a file that is not valid."""
    ours = sorted(Path(__file__).with_name("known").glob("*.toml"))
    theirs = sorted(engines_folder().glob("*/fingerprint.toml"))
    engines = [read_table(path, KnownEngine) for path in (*ours, *theirs)]
    return sorted(engines, key=lambda engine: not engine.observed)


class Likeness(Strict):
    """Count the statements that a server shares with an engine. `told`: those that are known of
    both.
    seen: whether the engine's were observed; else they are from its source. differs: the statements
    that differ, with the engine's value."""

    engine: str
    seen: bool
    equal: int
    told: int
    differs: list[str]


def likenesses(says: Mapping[str, str]) -> list[Likeness]:
    """Compare with every known engine; the most alike comes first."""
    rows = [_likeness(engine, says) for engine in known_engines()]
    return sorted(rows, key=lambda row: (-row.equal / max(row.told, 1), -row.told))


def _likeness(engine: KnownEngine, says: Mapping[str, str]) -> Likeness:
    both = [name for name in engine.says if says.get(name, UNDETERMINED) != UNDETERMINED]
    differs = [name for name in both if says[name] != engine.says[name]]
    return Likeness(
        engine=engine.name,
        seen=engine.observed,
        equal=len(both) - len(differs),
        told=len(both),
        differs=[f"{name}: {says[name]}, there {engine.says[name]}" for name in differs],
    )


def alike(rows: list[Likeness]) -> list[str]:
    """Return the engines that a server resembles most: several if nothing distinguishes them."""
    if not rows:
        return []
    best = rows[0]
    if best.told < ENOUGH or best.equal < _LIKE * best.told:
        return []
    share = best.equal / best.told
    return [row.engine for row in rows if row.told >= ENOUGH and row.equal / row.told == share]


def release(says: Mapping[str, str]) -> tuple[str, str]:
    """Return a range of releases of llama.cpp, and the statements that bound it. The samplers'
    names and meanings are from reference/changes.toml and harness/llama_cpp/signatures.toml."""
    oldest, newest, why = "", "", []
    for name, answer, since, until in _RELEASES:
        if says.get(name) == answer:
            why.append(f"{name}: {answer}")
            oldest, newest = since or oldest, until or newest
    if not (oldest or newest):
        return UNDETERMINED, "no statement that changed between releases is determined"
    words = [f"{oldest} or later" if oldest else "", f"{newest} or earlier" if newest else ""]
    return ", ".join(word for word in words if word), "; ".join(why)


# For each statement the releases that it allows; the oldest bound last, the newest first.
_RELEASES = (
    ("top_n_sigma", "has an effect", "b4753", ""),
    ("typical_p 0", "one token", "b5590", ""),
    ("adaptive_target", "has an effect", "b7836", ""),
    ("dry_penalty_last_n -1", "off", "b10361", ""),
    ("dry_penalty_last_n -1", "refused", "b10361", ""),  # the context was documented before
    ("dry_penalty_last_n -1", "all of the context", "", "b10068"),
    ("adaptive_target", "has no effect", "", "b6673"),
    ("typical_p 0", "more than one token", "", "b4980"),
)
