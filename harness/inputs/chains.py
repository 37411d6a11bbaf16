"""Complete chain specifications as the harness sends them, and validate the input of a suite.

A suite is validated once, by building its chains. A bad parameter is found before anything runs, so
the code that runs a chain need not check it.
"""

import inspect
from pathlib import Path
from typing import Any, NoReturn

from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.logits import Computed, DecodedLogits, Logits, Together
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference import ChainError, Vocab
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.registry import ROWS
from sampler_parity.reference.samplers.dry import breaker_sequences


def complete(chain: ChainSpec, n_vocab: int) -> ChainSpec:
    """Fill in the defaults of all parameters, so that an adapter needs none of its own. The caller
    has checked the chain: suites check theirs as they are read."""
    return [
        {name: _defaults(name, n_vocab) | parameters}
        for stage in chain
        for name, parameters in stage.items()
    ]


def breakers_as_tokens(chain: ChainSpec, vocab: Vocab) -> ChainSpec:
    """Return the chain with the text of each sequence breaker of dry as the tokens that it is in a
    vocabulary."""
    return [
        {name: _with_token_breakers(parameters, vocab) for name, parameters in stage.items()}
        for stage in chain
    ]


def _with_token_breakers(parameters: dict[str, Any], vocab: Vocab) -> dict[str, Any]:
    if not parameters.get("seq_breakers"):
        return parameters
    sequences = breaker_sequences(parameters["seq_breakers"], vocab)
    lists = sorted([head, *tail] for head, tails in sequences.items() for tail in tails)
    return parameters | {"seq_breakers": lists}


def _defaults(name: str, n_vocab: int) -> dict[str, Any]:
    parameters = parameters_of(ALL_SAMPLERS[name])
    defaults = {
        key: parameter.default
        for key, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty and key != "vocab"
    }
    if "n_vocab" in parameters:
        defaults["n_vocab"] = n_vocab
    return defaults


SELECT = tuple(name for name, row in ROWS.items() if row.kind == "select")
NamedChains = list[tuple[str, ChainSpec]]  # chains by the field that they stand in


class FileValidator:
    """The chains of a file that were built: each distinct one is built once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._built: set[str] = set()

    def refuse(self, problem: str, fix: str) -> NoReturn:
        """Raise InputError for the file."""
        raise InputError(self._path, problem, fix)

    def judged(self, place: str, logits: Logits, vocab: str | None, chains: NamedChains) -> None:
        """Check the input of a judged case."""
        self.fits(place, logits.n, vocab)
        self.on_logits(place, logits, vocab, chains)

    def texts(self, place: str, together: Together) -> None:
        """Check the texts of a context, and their chains."""
        vocab = read_vocab(model_path(together.together))
        for name, text in together.texts.items():
            self.prompt(place, text.prompt + text.forced, together.n)
            key = str(text.chain)
            if key not in self._built:
                self.build(place, [(f"text {name!r}", text.chain)], together.n, vocab)
                self._built.add(key)
            if not text.chain or next(iter(text.chain[-1])) not in SELECT:
                problem = f"{place}: text {name!r}: the last stage selects no token"
                raise InputError(self._path, problem, "end its chain with one that does")

    def fits(self, place: str, n: int, named: str | None) -> None:
        """Check the vocabulary size of a judged case; a timed chain may use a small vocabulary."""
        known = len(read_vocab(vocab_path(named))) if named else n
        if n > known:
            problem = f"{place}: logits: {n} are more than the {known} tokens of {named!r}"
            raise InputError(self._path, problem, "use fewer")

    def on_logits(self, place: str, logits: Logits, named: str | None, chains: NamedChains) -> None:
        vocab = read_vocab(vocab_path(named)) if named else None
        if isinstance(logits, DecodedLogits):
            vocab = read_vocab(model_path(logits.decoded))
        if isinstance(logits, DecodedLogits | Computed):
            self.prompt(place, logits.prompt, logits.n)
        key = str((chains, named))
        if key not in self._built:
            self.build(place, chains, logits.n, vocab)
            self._built.add(key)

    def prompt(self, place: str, prompt: list[int], n: int) -> None:
        unknown = [token for token in prompt if token >= n]
        if unknown:
            problem = f"{place}: prompt: token {unknown[0]} is not in the model's {n} tokens"
            fix = "take the prompt from this model's vocabulary"
            raise InputError(self._path, problem, fix)

    def build(self, place: str, chains: NamedChains, n: int, vocab: Vocab | None) -> None:
        for field, chain in chains:
            try:
                build_chain(chain, n_vocab=n, vocab=vocab)
            except ChainError as error:
                raise InputError(self._path, f"{place}: {field}: {error}") from None
