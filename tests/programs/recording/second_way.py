"""Compute a second way what `why` prints of slots.py: from no recording, without our reference.

libllama applies each sampler of a chain by itself. NumPy computes the rest in float64.
"""

import codecs
import ctypes
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import llama_cpp as llama
import numpy as np

from tests.programs.recording.programs import slots

# The samplers of slots.chain in their order, with the parameters that `why` prints.
STAGES = {
    "logit_bias": "logit_bias=[[305, 4], [307, -9]];",
    "penalties": "penalty_last_n=16; penalty_repeat=1.4; penalty_freq=0.3; penalty_present=0.2;",
    "dry": "dry_multiplier=0.9; dry_base=1.75; dry_allowed_length=1; dry_penalty_last_n=64;"
    ' seq_breakers=[" b", " n"];',
    "top_k": "k=60;",
    "top_p": "p=0.95; min_keep=1;",
    "min_p": "p=0.05; min_keep=1;",
    "temp": "temp=0.8;",
    "xtc": "p=0.5; t=0.1; min_keep=1; seed={seed};",
    "dist": "seed={seed};",
}
NAMES = [*STAGES]
Logits = Mapping[int, float]  # by token, in the order of the candidates


@dataclass
class Slot:
    """A slot of slots.py. numbers: random bytes of its dist. text: its number."""

    chain: Any
    seed: int
    text: int
    numbers: np.random.RandomState = field(init=False)
    index: int = 0
    decoder: Any = field(init=False)
    shown: str = ""

    def __post_init__(self) -> None:
        self.numbers = np.random.RandomState(self.seed)
        self.begin(self.text)

    def begin(self, text: int) -> None:
        self.text, self.index, self.shown = text, 0, ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")


@dataclass
class Computed:
    """A token, and the candidates before the chain and after each stage."""

    number: int
    text: int
    index: int
    seed: int
    token: int
    start: str
    shown: str
    u: float
    arrays: list[Logits]


def computed(model: str, steps: int) -> tuple[list[Computed], Any]:
    """Sample as slots.py does; return the tokens and the vocabulary."""
    vocab = slots.vocab_of(model)
    both = [Slot(slots.chain(vocab, seed), seed, seed) for seed in (1, 2)]
    rng = np.random.default_rng(3)
    tokens: list[Computed] = []
    for step in range(steps):
        if step == steps // 2:
            llama.llama_sampler_reset(both[0].chain)
            both[0] = Slot(both[0].chain, 1, 3)
        if step == steps * 3 // 4:
            both[1].chain = llama.llama_sampler_clone(both[1].chain)
            both[1].begin(4)
        row = rng.normal(0, 2, slots.N).astype(np.float32)
        row[slots.FIRST : slots.FIRST + 8] += 6
        for slot in both:
            arrays, token = applied(slot.chain, row)
            slot.index += 1
            start = slot.shown
            shown = slot.decoder.decode(slots.piece(vocab, token))
            slot.shown += shown
            u = int.from_bytes(slot.numbers.bytes(8), "little") / 2**64
            number = len(tokens) + 1
            tokens.append(
                Computed(number, slot.text, slot.index, slot.seed, token, start, shown, u, arrays)
            )
    return tokens, vocab


def applied(chain: Any, row: "np.ndarray[Any, np.dtype[np.float32]]") -> tuple[list[Logits], int]:
    """Apply the samplers one by one; return all candidates, and the token, which is accepted."""
    data = (llama.llama_token_data * slots.N)(*((i, x, 0.0) for i, x in enumerate(row.tolist())))
    array = llama.llama_token_data_array(data=data, size=slots.N, selected=-1, sorted=False)
    arrays = [listed(array)]
    for i in range(llama.llama_sampler_chain_n(chain)):
        llama.llama_sampler_apply(llama.llama_sampler_chain_get(chain, i), ctypes.byref(array))
        arrays.append(listed(array))
    token = int(array.data[array.selected].id)
    llama.llama_sampler_accept(chain, token)
    return arrays, token


def listed(array: Any) -> Logits:
    return {array.data[i].id: float(array.data[i].logit) for i in range(array.size)}


def lines(model: str, steps: int) -> dict[int, list[str]]:
    """Return the lines of every token, by its number, without any line breaks."""
    tokens, vocab = computed(model, steps)
    whole = {token.text: token.start + token.shown for token in tokens}
    return {token.number: list(lines_of(token, vocab, whole[token.text])) for token in tokens}


def lines_of(token: Computed, vocab: Any, whole: str) -> Iterator[str]:
    def name(one: int) -> str:
        return name_of(vocab, one)

    at = len(token.start)
    yield f"token    {token.number} ({token.text}:{token.index}) {name(token.token)}, id" + (
        f" {token.token}, at character {at}"
    )
    end = whole[at + len(token.shown) :]
    yield "text     " + f"{token.start}[[{token.shown}]]{end}".replace("\n", "\\n")
    first, last = token.arrays[0], token.arrays[-1]
    p = probabilities(first)
    rank = 1 + sum(logit > first[token.token] for logit in first.values())
    entropy = -sum(x * np.log(x) / np.log(2) for x in p.values() if x > 0)
    yield f"model    p {p[token.token]:.4g}, rank {rank} of 3,000, entropy {entropy:.4g} bits"
    yield f"{'':14} {'candidates':<14} {'logit':>9} {'p':>9}"
    for i, (stage, parameters) in enumerate(STAGES.items()):
        before, after = token.arrays[i : i + 2]
        counts = f"{len(before):>5,} -> {len(after):<5,}"
        logit, own = after[token.token], probabilities(after)[token.token]
        yield f"{i + 1:>2} {stage:<10}  {counts} {logit:>9.4g} {own:>9.4g}"
        gone = {one: f"{name(one)} {before[one]:.4g}" for one in before if one not in after}
        moved = {
            one: f"{name(one)} {before[one]:.4g} -> {after[one]:.4g}"
            for one in after
            if after[one] != before[one]
        }
        parts = [parameters.format(seed=token.seed)]
        for what, texts in (("removed", gone), ("changed", moved)):
            if texts:
                three = sorted(texts, key=lambda one: -before[one])[:3]
                more = ", ...;" if len(texts) > 3 else ";"
                parts.append(f"{what} {len(texts):,}: {', '.join(texts[k] for k in three)}{more}")
        yield " " * 9 + " ".join([*parts, "identical"])
    p = probabilities(last)
    sentence = f"{name(token.token)} was chosen because "
    kept = [
        f"{NAMES[i]} " + (f"{len(a):,}" if len(b) < 3000 else f"kept {len(a):,} of 3,000")
        for i, (b, a) in enumerate(zip(token.arrays, token.arrays[1:], strict=False))
        if len(a) < len(b)
    ]
    if len(last) == 1:
        stage = kept.pop().split(" ")[0]
        yield f"why      {sentence}{stage} left no other token, after {joined(kept)}."
        return
    low = sum(x for i, x in enumerate(p.values()) if i < list(p).index(token.token))
    u, low_text, high = three_numbers(token.u, low, low + p[token.token])
    yield f"random   {u}, in the interval {low_text} to {high}"
    best = max((one for one in p if one != token.token), key=lambda one: p[one])
    yield f"next     {name(best)} with p {p[best]:.4g}"
    sentence += f"the random number {u} fell into its interval, {low_text} to {high}: it had p ="
    sentence += f" {p[token.token]:.4g} of {len(last)} survivors, after {joined(kept)}."
    yield f"why      {sentence}"


def name_of(vocab: Any, token: int) -> str:
    """Return a token in quotes, or as bytes if it holds half a character."""
    piece = slots.piece(vocab, token)
    whole_characters = piece.decode(errors="ignore").encode() == piece
    return json.dumps(piece.decode(), ensure_ascii=False) if whole_characters else repr(piece)


def probabilities(logits: Logits) -> dict[int, float]:
    values = np.array([*logits.values()], np.float64)
    total = np.logaddexp.reduce(values)
    return dict(zip(logits, np.exp(values - total).tolist(), strict=True))


def joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def three_numbers(*numbers: float) -> list[str]:
    """Return three numbers with 4 digits, or as many as they need to differ."""
    texts = ([f"{x:.{digits}g}" for x in numbers] for digits in range(4, 18))
    return next(three for three in texts if len(set(three)) == 3)
