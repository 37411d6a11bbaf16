"""Rounds of speculative sampling by an engine's own verifier (docs/background/speculative.md).

The engine adds a function that verifies one round. The target's rows pass through the stages of the
engine's worker first, which have accepted the history and the drafts before.
"""

import inspect
import textwrap
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Instance, Result, Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, SpeculativeRequest

Floats = NDArray[np.float32]
# Logits of the target [drafted + 1, n_vocab], -inf for banned tokens; q [drafted, n_vocab]; the
# drafted tokens; a seed. Returns the tokens of the round.
Verify = Callable[[Floats, Floats, list[int], int], Sequence[int]]
Pairs = tuple[tuple[str, str], ...]
LOOKS_BACK = ("penalties", "dry", "grammar")


class VerifierAlone:
    """A worker that verifies drafts and samples nothing. edits: of the verifier's text."""

    edits: Pairs = ()

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        raise Unsupported("verifies drafts, and samples nothing alone")

    def candidates(self, logits: Floats) -> Any:
        raise Unsupported("has no candidates to show")

    def result(self, candidates: Any) -> Result:
        raise Unsupported("has no candidates to show")


def speculate(
    worker: Any, request: SpeculativeRequest, rounds: Rounds, verify: Verify, rule: str
) -> NDArray[np.int32]:
    """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""
    if request.rule != rule:
        raise Unsupported(f"its verifier knows {rule} alone")
    behind = rows_of(worker, request, rounds)

    def one(draft: list[int], seed: int) -> Sequence[int]:
        logits = np.array([behind(draft[:at]) for at in range(len(draft) + 1)])
        return verify(logits, rounds.draft_rows, draft, seed)[: request.drafted + 1]

    return one_by_one(rounds, one)


def one_by_one(
    rounds: Rounds, verify: Callable[[list[int], int], Sequence[int]]
) -> NDArray[np.int32]:
    """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last. verify: returns
    those of a round from its drafts and its seed."""
    n, drafted = rounds.drafts.shape
    tokens = np.full((n, drafted + 1), -1, np.int32)
    for i, draft in enumerate(rounds.drafts.tolist()):
        given = verify(draft, int(rounds.seeds[i]))
        tokens[i, : len(given)] = given
    return tokens


@dataclass(frozen=True)
class Launch:
    """Rounds that are requests of one launch. Every second one is turned: token t is V - 1 - t.

    A kernel that reads another request's rows then changes the distribution of the rounds.
    logits: [n, drafted + 1, n_vocab]. q: [n, drafted, n_vocab]. drafts: [n, drafted]. certain: q is
    1 at every drafted token, so that an engine may get no q.
    """

    logits: Floats
    q: Floats
    drafts: NDArray[np.int32]
    seeds: list[int]
    turned: NDArray[np.bool_]
    certain: bool

    def back(self, tokens: NDArray[Any]) -> NDArray[Any]:
        """Return tokens of the launch with the turned rounds turned back; -1 stays."""
        last = self.logits.shape[2] - 1
        return np.where(self.turned[:, None] & (tokens >= 0), last - tokens, tokens)


def in_launches(
    rounds: Rounds, at_once: int, verify: Callable[[Launch], NDArray[Any]]
) -> NDArray[np.int32]:
    """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last.

    verify: of a launch, in the same form. at_once: rounds of a launch.
    """
    parts = []
    for at in range(0, len(rounds.drafts), at_once):
        drafts, seeds = rounds.drafts[at : at + at_once], rounds.seeds[at : at + at_once]
        turned = np.arange(len(drafts)) % 2 == 1
        logits, q = (
            np.where(turned[:, None, None], rows[None, :, ::-1], rows[None])
            for rows in (rounds.logits, rounds.draft_rows)
        )
        drafts = np.where(turned[:, None], rounds.logits.shape[1] - 1 - drafts, drafts)
        certain = bool((rounds.draft_rows.max(1) == 1).all())
        launch = Launch(logits, q, drafts, seeds.tolist(), turned, certain)
        parts.append(launch.back(verify(launch)))
    return np.concatenate(parts).astype(np.int32)


def rows_of(
    worker: Any, request: SpeculativeRequest, rounds: Rounds
) -> Callable[[Sequence[int]], Floats]:
    """Return a function: the target's logits behind drafts, by the stages before the draw."""
    *chain, last = request.chain
    if "dist" not in last:
        raise Unsupported("rounds need a chain that ends in dist")
    back = any(name in LOOKS_BACK for stage in chain for name in stage)
    known: dict[tuple[int, ...], Floats] = {}

    def behind(draft: Sequence[int]) -> Floats:
        key = tuple(draft) if back else (0,) * len(draft)
        if key not in known:
            built = worker.build(chain, request.n_vocab, request.vocab)
            for token in [*request.history, *draft]:
                built.accept(token)
            row = worker.candidates(rounds.logits[len(draft)])
            for stage in range(len(chain)):
                built.apply(stage, row)
            ids, logits, *_ = worker.result(row)
            known[key] = np.full(request.n_vocab, -np.inf, np.float32)
            known[key][ids] = logits
        return known[key]

    return behind


def edited(function: Any, edits: Pairs, scope: dict[str, Any] | None = None) -> Any:
    """Return a function after edits of its text. scope: names that it sees in place of its
    module's. Raises ValueError for an edit that does not fit."""
    text = textwrap.dedent(inspect.getsource(function))
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times in {function.__name__}")
        text = text.replace(old, new)
    names = function.__globals__ | scope if scope else function.__globals__
    made: dict[str, Any] = {}
    exec(compile(text, f"<{function.__name__}, edited>", "exec"), names, made)
    return made[function.__name__]


def faults() -> list[dict[str, Any]]:
    """Return the faults of verifiers, each with its edits by engine."""
    file = files("sampler_parity.engines.shared").joinpath("verifier_faults.toml")
    found: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["fault"]
    return found


def edits_of(fault: dict[str, Any], engine: str) -> Pairs:
    """Return the edits of a fault in the text of an engine."""
    return tuple((edit["old"], edit["new"]) for edit in fault[engine])


def planted(worker: type[Any], engine: str) -> type[Any]:
    """Return a worker with a fault in its verifier: the one whose number among the faults is the
    seed of the chain's draw, which no verifier reads. One process then tries all faults."""

    class Worker(worker):  # type: ignore[misc]
        def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
            self.edits = edits_of(faults()[request.chain[-1]["dist"]["seed"]], engine)
            given: NDArray[np.int32] = super().speculate(request, rounds)
            return given

    return Worker
