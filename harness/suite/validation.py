"""Validate the input of a suite, once, by building its chains.

A bad parameter is found before anything runs, so the code that runs a chain need not check it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.by_tokens import TokensCase
from sampler_parity.harness.checks.case import SELECT, Case
from sampler_parity.harness.checks.distribution.block import Cell, Speculative
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.invariance import InvarianceCase
from sampler_parity.harness.checks.logits import LogitsCase
from sampler_parity.harness.checks.sequences.block import SequencesCase
from sampler_parity.harness.checks.stages.block import ChainCase, StagesCase
from sampler_parity.harness.checks.throughput.block import Width
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.logits import Computed, DecodedLogits, Logits, Together
from sampler_parity.harness.inputs.models import model_path, n_vocab_of
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference import ChainError, Vocab

Named = list[tuple[str, ChainSpec]]  # chains by the field that they stand in


class FileValidator:
    """The chains of a file that were built: each distinct one is built once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._built: set[str] = set()

    def check(self, place: str, check: Any) -> None:
        """Check a case or cell. Raises InputError if it cannot run."""
        others: dict[str, Callable[[str, Any], None]]
        others = {"distribution": self.cell, "timing": self.timed, "throughput": self.width}
        others.get(check.check, self.case)(place, check)

    def case(self, place: str, case: Case) -> None:
        if isinstance(case, InvarianceCase):
            for text in case.logits.texts:
                self._prompt(place, text, case.logits.n)
        elif isinstance(case, SequencesCase):
            self._texts(place, case.logits)
        elif isinstance(case, BatchCase):
            several: dict[str, tuple[str, ChainSpec]] = {}
            for i, each in enumerate(case.batch.sequences):
                named = f"batch.sequences.{i}.chain", each.chain
                several.setdefault(_without_seeds(each.chain), named)
            self._judged(place, case.logits, case.vocab, [*several.values()])
        elif isinstance(case, LogitsCase):
            self._judged(place, case.logits, None, [])
        elif isinstance(case, ChainCase | GenerationCase):
            self._chain(place, case)

    def _chain(self, place: str, case: ChainCase | GenerationCase) -> None:
        chains: Named = [("chain", case.chain)]
        vocab = case.vocab if isinstance(case, ChainCase) else None
        if isinstance(case, StagesCase):
            if not case.chain:
                raise InputError(self._path, f"{place}: chain: has no stage", "name a sampler")
            if case.relation is not None and case.relation.kind != "permuted":
                chains.append(("relation.chain", case.relation.chain))
        if isinstance(case, TokensCase):
            chains += [(f"instead.{name}", chain) for name, chain in case.instead.items()]
        self._judged(place, case.logits, vocab, chains)

    def _judged(self, place: str, logits: Logits, vocab: str | None, chains: Named) -> None:
        self._fits(place, logits.n, vocab)
        self._on_logits(place, logits, vocab, chains)

    def _texts(self, place: str, together: Together) -> None:
        vocab = read_vocab(model_path(together.together))
        for name, text in together.texts.items():
            self._prompt(place, text.prompt + text.forced, together.n)
            key = str(text.chain)
            if key not in self._built:
                self._build(place, [(f"text {name!r}", text.chain)], together.n, vocab)
                self._built.add(key)
            if not text.chain or next(iter(text.chain[-1])) not in SELECT:
                problem = f"{place}: text {name!r}: the last stage selects no token"
                raise InputError(self._path, problem, "end its chain with one that does")

    def cell(self, place: str, cell: Cell) -> None:
        self._fits(place, cell.logits.n, cell.vocab)
        others: Named = [("law", cell.law)] if cell.law else []
        if isinstance(cell, Speculative):
            others.append(("draft_chain", cell.draft_chain))
            if cell.draft.n != cell.logits.n:
                problem = f"{place}: draft: {cell.draft.n} tokens, the target has {cell.logits.n}"
                raise InputError(self._path, problem, "give both the same vocabulary")
        self._on_logits(place, cell.logits, cell.vocab, [("chain", cell.chain), *others])

    def timed(self, place: str, timed: TimedChain) -> None:
        place = f"chain {timed.id!r}"
        others: Named = [(f"instead.{name}", chain) for name, chain in timed.instead.items()]
        self._on_logits(place, timed.logits, timed.vocab, [("chain", timed.chain), *others])

    def width(self, place: str, width: Width) -> None:
        n = n_vocab_of(width.model)
        self._prompt(place, width.prompt, n)
        self._build(place, [("chain", width.chain)], n, read_vocab(model_path(width.model)))

    def _fits(self, place: str, n: int, named: str | None) -> None:
        """Check the vocabulary size of a judged case; a timed chain may use a small vocabulary."""
        known = len(read_vocab(vocab_path(named))) if named else n
        if n > known:
            problem = f"{place}: logits: {n} are more than the {known} tokens of {named!r}"
            raise InputError(self._path, problem, "use fewer")

    def _on_logits(self, place: str, logits: Logits, named: str | None, chains: Named) -> None:
        vocab = read_vocab(vocab_path(named)) if named else None
        if isinstance(logits, DecodedLogits):
            vocab = read_vocab(model_path(logits.decoded))
        if isinstance(logits, DecodedLogits | Computed):
            self._prompt(place, logits.prompt, logits.n)
        key = str((chains, named))
        if key not in self._built:
            self._build(place, chains, logits.n, vocab)
            self._built.add(key)

    def _prompt(self, place: str, prompt: list[int], n: int) -> None:
        unknown = [token for token in prompt if token >= n]
        if unknown:
            problem = f"{place}: prompt: token {unknown[0]} is not in the model's {n} tokens"
            fix = "take the prompt from this model's vocabulary"
            raise InputError(self._path, problem, fix)

    def _build(self, place: str, chains: Named, n: int, vocab: Vocab | None) -> None:
        for field, chain in chains:
            try:
                build_chain(chain, n_vocab=n, vocab=vocab)
            except ChainError as error:
                raise InputError(self._path, f"{place}: {field}: {error}") from None


def _without_seeds(chain: ChainSpec) -> str:
    """Return the chain as text without its seeds: chains that differ only there are built once."""
    return str(
        [
            {name: {key: value for key, value in given.items() if key != "seed"}}
            for stage in chain
            for name, given in stage.items()
        ]
    )
