"""The blocks of a suite file, and the messages for mistakes in it."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Discriminator, Tag, ValidationError

from sampler_parity.harness.checks.accuracy.block import Accuracies
from sampler_parity.harness.checks.batch.block import Batches
from sampler_parity.harness.checks.batch.random_batches import RandomBatches
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
from sampler_parity.harness.checks.logprobs.block import LogprobsBlock
from sampler_parity.harness.checks.rounds.block import RandomRounds
from sampler_parity.harness.checks.sequences.block import SequencesBlock
from sampler_parity.harness.checks.skip_ratio.block import SkipRatiosBlock
from sampler_parity.harness.checks.stages.blocks.fuzz import Fuzz
from sampler_parity.harness.checks.stages.blocks.grammar import Grammars, RandomGrammars
from sampler_parity.harness.checks.stages.blocks.ladder import Ladder
from sampler_parity.harness.checks.stages.blocks.matrix import MatrixBlock, Pairs
from sampler_parity.harness.checks.stages.blocks.outcomes import ChosenOutcomes
from sampler_parity.harness.checks.stages.blocks.pairwise import Pairwise
from sampler_parity.harness.checks.stages.blocks.random_breakers import RandomBreakers
from sampler_parity.harness.checks.stages.blocks.random_chains import RandomChains
from sampler_parity.harness.checks.stages.blocks.scripts import Scripts
from sampler_parity.harness.checks.stages.blocks.trie import RandomTries
from sampler_parity.harness.checks.stages.blocks.twins import Twins
from sampler_parity.harness.checks.throughput.block import WidthGrid
from sampler_parity.harness.checks.timing.block import TimedChain, TimedGrid
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import ABOUT_KEYS, Mistake, Size, Strict, mistake


def _kind_of_grid(block: Any) -> str:
    """Return the kind of a grid: tokens a second on a model, times of a chain on logits."""
    model = block.get("model") if isinstance(block, dict) else getattr(block, "model", None)
    return "timing" if model is None else "throughput"


_Grid = Annotated[
    Annotated[TimedGrid, Tag("timing")] | Annotated[WidthGrid, Tag("throughput")],
    Discriminator(_kind_of_grid),
]


class Suite(Strict):
    """A suite file."""

    name: str
    """one sentence about the suite"""
    sampler: str | None = None
    """the sampler that the suite is about, if there is one"""
    case: list[AnyCase] = []
    """single cases"""
    matrix: list[MatrixBlock] = []
    """one chain on a grid of logits and parameters"""
    pairs: list[Pairs] = []
    """every ordered pair of stages"""
    ladder: list[Ladder] = []
    """sizes near powers of two"""
    twins: list[Twins] = []
    """several instances of each sampler in one chain"""
    scripts: list[Scripts] = []
    """every script of a few operations on each sampler with a state"""
    outcomes: list[ChosenOutcomes] = []
    """chosen numbers of survivors, and gaps between logits"""
    pairwise: list[Pairwise] = []
    """every two parameters in every pair of their classes"""
    random_chains: list[RandomChains] = []
    """random chains"""
    fuzz: list[Fuzz] = []
    """cases that Hypothesis makes"""
    decode: list[Decodings] = []
    """logits of prompts on every device"""
    generate: list[Generations] = []
    """generations with a model"""
    sequences: list[SequencesBlock] = []
    """many sequences in one context"""
    invariance: list[Invariances] = []
    """logits in batches against logits alone"""
    accuracy: list[Accuracies] = []
    """errors of p and of the running mass"""
    logprobs: list[LogprobsBlock] = []
    """the log-probabilities that an engine returns, by mode"""
    frequency: list[Frequency] = []
    """distribution test: frequencies"""
    coupled: list[Coupled] = []
    """distribution test: equal uniforms"""
    tail: list[Tail] = []
    """distribution test: unlikely tokens"""
    independence: list[Independence] = []
    """distribution test: repeats"""
    injected: list[Injected] = []
    """distribution test: extreme uniforms"""
    speculative: list[Speculative] = []
    """distribution test: rounds of speculative sampling"""
    grammar: list[Grammars] = []
    """texts that a grammar accepts or rejects"""
    random_grammars: list[RandomGrammars] = []
    """random grammars"""
    random_tries: list[RandomTries] = []
    """random token tries"""
    random_breakers: list[RandomBreakers] = []
    """random sequence breakers of dry"""
    batch: list[Batches] = []
    """many rows at once"""
    random_batches: list[RandomBatches] = []
    """random batches of rows whose state depends on the order of tokens"""
    random_rounds: list[RandomRounds] = []
    """random rounds of speculative sampling with certain tokens"""
    skip_ratio: list[SkipRatiosBlock] = []
    """savings of a token trie"""
    chain: list[TimedChain] = []
    """chains to time"""
    grid: list[_Grid] = []
    """timings over sizes, or tokens a second"""
    chains: dict[str, ChainSpec] = {}
    """chains by name, for blocks that have none of their own"""
    sizes: list[Size] = []
    """sizes for every timed `grid` that has none of its own"""

    def described(self) -> Iterator[Any]:
        """Yield every block with a description; timed blocks have none."""
        for name in BLOCKS:
            if name not in ("chain", "grid"):
                yield from getattr(self, name)


_OF_FILE = ("name", "sampler", "chains", "sizes")
BLOCKS = tuple(name for name in Suite.model_fields if name not in _OF_FILE)


def explain(error: ValidationError, data: dict[str, Any]) -> tuple[str, str]:
    """Return the problem and the fix of the first mistake: block with its id, field, reason."""
    _, location, reason, fix = reason_of(error)
    place = [str(part) for part in location]
    if len(location) >= 2 and location[0] in BLOCKS and isinstance(location[1], int):
        block = data[location[0]][location[1]]
        name = block.get("id") if isinstance(block, dict) else None
        shown = repr(name) if name else f"number {location[1] + 1}"
        inner = location[3:] if location[0] in ("case", "grid") else location[2:]  # after the kind
        place = [f"{location[0]} {shown}", ".".join(str(part) for part in inner)]
    return f"{': '.join(part for part in place if part)}: {reason}", fix


def reason_of(error: ValidationError) -> Mistake:
    """Return the mistake to show. If the keys of logits are wrong, it lists all forms of logits."""
    shown = mistake(error)
    if "logits" not in shown.location or shown.type not in ABOUT_KEYS:
        return shown
    members = "must be {values}, {probs}, {family, n, seed}, {log_of_id} or {golden, row}"
    return shown._replace(reason=members, fix="")
