"""What a suite file may hold: its blocks, and what is said of a file that holds another thing."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Discriminator, Tag, ValidationError

from sampler_parity.harness.checks.batch.block import Batches
from sampler_parity.harness.checks.cases import AnyCase
from sampler_parity.harness.checks.devices.block import Decodings
from sampler_parity.harness.checks.distribution.block import (
    Coupled,
    Frequency,
    Independence,
    Injected,
    Speculative,
    Tail,
)
from sampler_parity.harness.checks.generation.block import Generations
from sampler_parity.harness.checks.invariance.block import Invariances
from sampler_parity.harness.checks.sequences.block import Sequences
from sampler_parity.harness.checks.skip_ratio.block import SkipRatios
from sampler_parity.harness.checks.stages.blocks.fuzz import Fuzz
from sampler_parity.harness.checks.stages.blocks.grammar import Grammars, RandomGrammars
from sampler_parity.harness.checks.stages.blocks.ladder import Ladder
from sampler_parity.harness.checks.stages.blocks.matrix import Matrix, Pairs
from sampler_parity.harness.checks.stages.blocks.random_breakers import RandomBreakers
from sampler_parity.harness.checks.stages.blocks.random_chains import RandomChains
from sampler_parity.harness.checks.stages.blocks.trie import RandomTries
from sampler_parity.harness.checks.stages.blocks.twins import Twins
from sampler_parity.harness.checks.throughput.block import WidthGrid
from sampler_parity.harness.checks.timing.block import TimedChain, TimedGrid
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import ABOUT_KEYS, Mistake, Size, Strict, mistake


def _kind_of_grid(block: Any) -> str:
    """A grid on a model measures tokens a second; one on logits times a chain."""
    model = block.get("model") if isinstance(block, dict) else getattr(block, "model", None)
    return "timing" if model is None else "throughput"


_Grid = Annotated[
    Annotated[TimedGrid, Tag("timing")] | Annotated[WidthGrid, Tag("throughput")],
    Discriminator(_kind_of_grid),
]


class Suite(Strict):
    """A suite file. sampler: the sampler that it is about, where it is about one.

    chains: by name, for every block of generate that has none of its own, and for those of grid
    that measure tokens a second. sizes: for every block of grid that times and has none.
    """

    name: str
    sampler: str | None = None
    case: list[AnyCase] = []
    matrix: list[Matrix] = []
    pairs: list[Pairs] = []
    ladder: list[Ladder] = []
    twins: list[Twins] = []
    random_chains: list[RandomChains] = []
    fuzz: list[Fuzz] = []
    decode: list[Decodings] = []
    generate: list[Generations] = []
    sequences: list[Sequences] = []
    invariance: list[Invariances] = []
    frequency: list[Frequency] = []
    coupled: list[Coupled] = []
    tail: list[Tail] = []
    independence: list[Independence] = []
    injected: list[Injected] = []
    speculative: list[Speculative] = []
    grammar: list[Grammars] = []
    random_grammars: list[RandomGrammars] = []
    random_tries: list[RandomTries] = []
    random_breakers: list[RandomBreakers] = []
    batch: list[Batches] = []
    skip_ratio: list[SkipRatios] = []
    chain: list[TimedChain] = []
    grid: list[_Grid] = []
    chains: dict[str, ChainSpec] = {}
    sizes: list[Size] = []

    def described(self) -> Iterator[Any]:
        """Every block with a description; what is timed has none."""
        for name in BLOCKS:
            if name not in ("chain", "grid"):
                yield from getattr(self, name)


_OF_FILE = ("name", "sampler", "chains", "sizes")
BLOCKS = tuple(name for name in Suite.model_fields if name not in _OF_FILE)


def explain(error: ValidationError, data: dict[str, Any]) -> tuple[str, str]:
    """Problem and mend of the first thing that is wrong: block with its id, field, reason."""
    _, location, reason, fix = reason_of(error)
    place = [str(part) for part in location]
    if len(location) >= 2 and location[0] in BLOCKS and isinstance(location[1], int):
        block = data[location[0]][location[1]]
        name = block.get("id") if isinstance(block, dict) else None
        shown = repr(name) if name else f"number {location[1] + 1}"
        inner = location[3:] if location[0] in ("case", "grid") else location[2:]  # behind the kind
        place = [f"{location[0]} {shown}", ".".join(str(part) for part in inner)]
    return f"{': '.join(part for part in place if part)}: {reason}", fix


def reason_of(error: ValidationError) -> Mistake:
    """The mistake to show. Of logits no single member of the union is meant by wrong keys."""
    shown = mistake(error)
    if "logits" not in shown.location or shown.type not in ABOUT_KEYS:
        return shown
    members = "must be {values}, {probs}, {family, n, seed}, {log_of_id} or {golden, row}"
    return shown._replace(reason=members, fix="")
