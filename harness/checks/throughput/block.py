"""Blocks of a suite that measure tokens per second with decoding: docs/measure-speed.md."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import Field

from sampler_parity.harness.checks.grid import Axes, Subset, SuiteBlock, fill, points
from sampler_parity.harness.inputs.models import model_path, n_vocab_of
from sampler_parity.harness.inputs.validation import FileValidator
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Steps, Tokens


class Width(SuiteBlock):
    """A chain on a model, with this many sequences at once, each with the prompt."""

    check: ClassVar[str] = "throughput"

    id: str
    model: str
    chain_name: str
    chain: ChainSpec
    prompt: Tokens = Field(min_length=1)
    tokens: Steps
    sequences: Steps

    def validate_input(self, validator: FileValidator, place: str) -> None:
        n = n_vocab_of(self.model)
        validator.prompt(place, self.prompt, n)
        validator.build(place, [("chain", self.chain)], n, read_vocab(model_path(self.model)))


class WidthGrid(SuiteBlock):
    """Tokens a second of chains on a model, by number of sequences."""

    id: str
    model: str
    prompt: Tokens = Field(min_length=1)
    """tokens that each sequence begins with"""
    tokens: Steps
    """tokens to generate for each sequence"""
    sizes: list[Steps]
    """numbers of sequences at once"""
    chains: list[str]
    """names of chains of the file"""
    quick: bool | Subset | list[Subset] = True

    def items(self, shared: Mapping[str, ChainSpec], quick: bool) -> Iterator[Width]:
        """Yield the widths. Raises ValueError if it cannot be expanded, InputError for an unknown
        model."""
        axes: Axes = {"chains": list(self.chains), "sizes": list(self.sizes)}
        for point in points(axes, self.quick, quick):
            name, sequences = point["chains"], point["sizes"]
            if name not in shared:
                raise ValueError(f"no chain {name!r} in the file")
            yield Width(
                id=f"throughput/{self.id}/{name}/{sequences}",
                model=self.model,
                chain_name=name,
                chain=fill(shared[name], {}, n_vocab_of(self.model)),
                prompt=self.prompt,
                tokens=self.tokens,
                sequences=sequences,
            )
