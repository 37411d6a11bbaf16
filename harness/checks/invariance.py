"""Measure the invariance of decoding: the logits of a text in batches, against those alone.

The tokens are given, so no sampler takes part: the first token of each text is its prompt, and all
others are forced, one at a time. A batch has one token of each of its sequences. Every width
decodes every text.
"""

import hashlib
from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.checks.grid import Prompted, SuiteBlock
from sampler_parity.harness.checks.logits import divergence, largest_difference, model_digest
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import Crowded
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol import client_serving
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.sequences import (
    SequencesRequest,
    SequencesStep,
    SlotChange,
    Text,
)
from sampler_parity.harness.strict import Size, Steps, Strict


class WidthFigures(Strict):
    """The figures of a batch width. rows: of logits that were compared; equal: to the bit.
    difference: the largest of two logits, absolute. kl_*: Kullback-Leibler divergence from the
    sequence alone, nats. top1: rows with the same most likely token.
    """

    width: int
    """texts at once"""
    rows: int
    """rows of logits that were compared"""
    equal: int
    """rows that are equal to the bit"""
    difference: float
    """largest absolute difference of two logits"""
    kl_max: float
    """largest Kullback-Leibler divergence from the text alone, nats"""
    kl_mean: float
    """mean Kullback-Leibler divergence from the text alone, nats"""
    top1: int
    """rows with the same most likely token"""


class InvarianceOnBackend(Strict):
    """The figures of one backend."""

    failed: str = ""
    widths: list[WidthFigures] = []
    """figures by width, rising; width 1 is the same text alone again"""


class InvarianceResult(Result):
    """Texts decoded on their own and in batches, on every backend."""

    kind: Literal["invariance"] = "invariance"
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    model_sha256: str
    texts_sha256: str
    """SHA-256 of all tokens as int32"""
    texts: int
    """number of texts"""
    tokens: int
    """tokens of each text"""
    backends: dict[str, InvarianceOnBackend]

    @model_validator(mode="after")
    def _counts_fit(self) -> "InvarianceResult":
        for figures in (f for b in self.backends.values() for f in b.widths):
            if not max(figures.equal, figures.top1) <= figures.rows:
                raise ValueError(f"width {figures.width} has more rows that agree than rows")
        return self


class Fewer(SuiteBlock):
    """The part of a block that the quick profile takes."""

    texts: Size
    """number of texts"""
    tokens: Steps
    """tokens of each text"""
    widths: list[Size] = Field(min_length=1)
    """how many texts are decoded at once"""


class InvarianceCase(Case):
    """Texts that are decoded alone and several at once."""

    check: ClassVar[str] = "invariance"
    chosen_by = ("logits.crowded",)

    logits: Crowded

    def validate_input(self, validator: FileValidator, place: str) -> None:
        for text in self.logits.texts:
            validator.prompt(place, text, self.logits.n)


class Invariances(Prompted):
    """One case with texts of equal length at each width. Prompts give the texts in turn."""

    texts: Size
    """number of texts"""
    tokens: Steps
    """tokens of each text"""
    widths: list[Size] = Field(min_length=1)
    """how many texts are decoded at once"""
    quick: bool | Fewer = True
    """whether the quick profile takes the block, or what it takes"""

    def items(self, quick: bool) -> Iterator[Case]:
        """Yield the case. Raises ValueError if the prompts have too few tokens."""
        if quick and not self.quick:
            return
        texts, tokens, widths = self.texts, self.tokens, self.widths
        if quick and isinstance(self.quick, Fewer):
            texts, tokens, widths = self.quick.texts, self.quick.tokens, self.quick.widths
        crowded = {"crowded": self.model, "texts": self._texts(texts, tokens)}
        logits = crowded | {"widths": sorted(widths)}
        yield InvarianceCase.model_validate(self.about() | {"logits": logits})

    def _texts(self, count: int, tokens: int) -> list[list[int]]:
        prompts = list(self.all_prompts().values())
        longest = max(map(len, prompts))
        parts = [prompt[at : at + tokens] for at in range(0, longest, tokens) for prompt in prompts]
        full = [part for part in parts if len(part) == tokens]
        if len(full) < count:
            available = f"{len(full)} texts of {tokens} tokens"
            raise ValueError(f"the prompts give only {available}; {count} are needed")
        return full[:count]


Rows = NDArray[np.float32]  # [texts, tokens, n_vocab]


def run(case: InvarianceCase, tools: Ready) -> InvarianceResult:
    """Return the figures of every width on every backend."""
    by_backend = {}
    for backend in tools.backends:
        try:
            by_backend[backend.name] = _on(case, backend)
        except BackendFailure as failure:
            why = f"{failure.verdict}: {failure}"
            by_backend[backend.name] = InvarianceOnBackend(failed=why)
    return invariance_result(case, by_backend)


def died(case: InvarianceCase, terms: Terms, problem: str) -> InvarianceResult:
    """Return the record of a case that ends the process that measures it."""
    failed = InvarianceOnBackend(failed=f"crashed: {problem}")
    return invariance_result(case, dict.fromkeys(short_names(terms.backends), failed))


def invariance_result(
    case: InvarianceCase, backends: dict[str, InvarianceOnBackend]
) -> InvarianceResult:
    """Return the record of a case of invariance."""
    crowded = case.logits
    digest = hashlib.sha256(np.array(crowded.texts, np.int32).tobytes())
    return InvarianceResult(
        id=case.id,
        model_sha256=model_digest(model_path(crowded.crowded)),
        texts_sha256=digest.hexdigest(),
        texts=len(crowded.texts),
        tokens=len(crowded.texts[0]),
        backends=backends,
    )


def _on(case: InvarianceCase, backend: Backend) -> InvarianceOnBackend:
    alone = _decoded(case, backend, 1)
    return InvarianceOnBackend(
        widths=[
            figures(width, alone, _decoded(case, backend, width)) for width in case.logits.widths
        ]
    )


def figures(width: int, alone: Rows, crowded: Rows) -> WidthFigures:
    """Compare the rows of a width with those of the texts alone."""
    n_vocab = alone.shape[-1]
    a, b = alone.reshape(-1, n_vocab), crowded.reshape(-1, n_vocab)
    kl = divergence(a, b)
    return WidthFigures(
        width=width,
        rows=len(a),
        equal=int((a == b).all(axis=1).sum()),
        difference=largest_difference(a, b),
        kl_max=float(kl.max()),
        kl_mean=float(kl.mean()),
        top1=int((a.argmax(axis=1) == b.argmax(axis=1)).sum()),
    )


def _decoded(case: InvarianceCase, backend: Backend, width: int) -> Rows:
    """Return the logits after every token of every text, `width` texts at once. In the last batch
    the first texts fill the places that are left."""
    texts = case.logits.texts
    shape = len(texts), len(texts[0]), case.logits.n
    rows = np.empty(shape, np.float32)
    for first in range(0, len(texts), width):
        places = [i % len(texts) for i in range(first, first + width)]
        reply = client_serving.sequences(backend, request_of(case, places))
        by_step = reply.rows.reshape(len(texts[0]), width, -1)
        count = min(width, len(texts) - first)
        rows[first : first + count] = by_step[:, :count].swapaxes(0, 1)
    return rows


def request_of(case: InvarianceCase, places: list[int]) -> SequencesRequest:
    """Return a request for these texts at once, each in a slot, token by token."""
    crowded, slots = case.logits, list(range(len(places)))
    texts = [
        # one forced token a step; the last one, 0, is never decoded
        Text(chain=[{"greedy": {}}], prompt=crowded.texts[i][:1], forced=[*crowded.texts[i][1:], 0])
        for i in places
    ]
    joins = [SlotChange(do="join", slot=slot, text=slot) for slot in slots]
    steps = [
        SequencesStep(before=[] if at else joins, batch=slots, sample=slots)
        for at in range(len(crowded.texts[0]))
    ]
    return SequencesRequest(
        model=str(model_path(crowded.crowded)),
        n_vocab=crowded.n,
        slots=len(places),
        texts=texts,
        steps=steps,
        out=0,
    )
