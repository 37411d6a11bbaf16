"""The rows of the page of a recording: its tokens, and the stages of each."""

from dataclasses import dataclass
from typing import NamedTuple


class Piece(NamedTuple):
    """A token. text: fit to be shown; None with --no-text."""

    id: int
    text: str | None


@dataclass(frozen=True)
class StageRow:
    """A stage of a token, and the candidates after it; None if they are not known.

    mass: the probability that the model gave the survivors. logit, p: the token's; None if it was
    removed. removed: the first tokens with their logits. changes: how many logits it changed.
    changed: the first tokens with their logits before and after.
    """

    name: str
    parameters: str = ""
    n: int | None = None
    mass: float | None = None
    logit: float | None = None
    p: float | None = None
    verdict: str = "identical"
    removed: tuple[tuple[Piece, float], ...] = ()
    changes: int = 0
    changed: tuple[tuple[Piece, float, float], ...] = ()


@dataclass(frozen=True)
class TokenRow:
    """A sampled token. text: the number of its text; life: the text's name in `check`. shown: the
    characters that it completes, None for its piece.

    before, logit, model_rank, model_p, entropy (bits): among the candidates before the chain.
    forced_by, favourite_removed_by: a stage, or "". best: the survivor with the largest logit.
    draw: the random number, and the interval of the token. top: the largest candidates before the
    chain: logit, p, and the stage that removed it, -1 for none.
    """

    number: int
    piece: Piece
    text: int = 1
    life: str = ""
    shown: str | None = None
    accepted: bool = True
    p: float | None = None
    before: int | None = None
    model_rank: int | None = None
    logit: float | None = None
    model_p: float | None = None
    entropy: float | None = None
    differs_from_greedy: bool = False
    forced_by: str = ""
    favourite_removed_by: str = ""
    best: Piece | None = None
    draw: tuple[float, float, float] | None = None
    top: tuple[tuple[Piece, float, float, int], ...] = ()
    stages: tuple[StageRow, ...] = ()
