"""The stage `logprobs/MODE`, which ends a chain: what an engine returns for the drawn token and for
the most likely ones, in a mode of the engine (docs/background/log-probabilities.md)."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sampler_parity.engines.shared.staged import Staged
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec

PREFIX = "logprobs/"
# Of a row and the tokens so far: the token that is drawn, and what is returned with it.
Report = Callable[[Any, list[int]], tuple[int, Result]]


class Reporting(Staged):
    """A chain behind which the engine's own generation draws the token and reports it.

    The stages before the report show what the engine's functions do; `report` asks it as a whole.
    """

    def __init__(
        self,
        chain: ChainSpec,
        make: Callable[[str, dict[str, Any]], Any],
        engine: str,
        report: Report,
    ) -> None:
        super().__init__(chain, make, engine)
        self.report = report
        self.came: Result | None = None

    def apply(self, stage: int | None, row: Any) -> None:
        if stage == len(self.stages):
            row.reported = self.came
            return
        super().apply(stage, row)
        if stage == len(self.stages) - 1:
            with self.refused():
                row.token, self.came = self.report(row, self.tokens)

    def clone(self) -> "Reporting":
        twin = Reporting(self.chain, self.make, self.engine, self.report)
        twin.tokens, twin.n_prompt = list(self.tokens), self.n_prompt
        return twin


def stages(modes: Iterable[str]) -> list[str]:
    """Return the names of the stages, for the hello."""
    return [PREFIX + mode for mode in modes]


def parted(chain: ChainSpec) -> tuple[ChainSpec, str, int]:
    """Return the chain without that stage, the mode ("" without one) and how many tokens it asks
    for."""
    name, given = next(iter(chain[-1].items())) if chain else ("", {})
    if not name.startswith(PREFIX):
        return chain, "", 0
    return chain[:-1], name.removeprefix(PREFIX), given["top"]


def reported(ids: Any, values: Any, rank: float = 0) -> Result:
    """Return the result of the stage. ids, values: the drawn token's first. rank: of that token."""
    ids, values = np.asarray(ids, np.int32), np.asarray(values, np.float32)
    p = np.zeros(len(ids), np.float32)
    p[0] = rank
    return ids, values, p, None, 0


def most_likely(values: Any, token: int, top: int) -> Result:
    """Report a token and the most likely ones of a whole row, for an engine that returns rows."""
    values = np.asarray(values, np.float32)
    ids = [token, *np.argsort(-values, kind="stable")[:top].tolist()]
    return reported(ids, values[ids])
