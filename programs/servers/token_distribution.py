"""Test the tokens of a server whose generator is its own against the exact distribution of each.

Every token has a distribution of its own: the filters and the temperature of the request on the
logits after the tokens before it. A draw is mapped to where it lies in that distribution, most
likely first: a number that is uniform on [0, 1) whatever the distribution, and independent of those
before (Rosenblatt 1952); within a token's share by chance. Their counts in equal parts are judged
by `g_p_value`, which holds for any number of draws. A token that the distribution excludes, and
rounding does not explain, is proof.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.protocol.client import Row
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.statistics.fit import g_p_value
from sampler_parity.harness.statistics.plan import Budget, smallest_caught
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.observation import Observation
from sampler_parity.programs.servers.oracle.model import (
    ROUNDING,
    DecodedModel,
    KnownModel,
    ModelTest,
    observe_with,
)
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.reference import Candidates

PARTS = 5  # of [0, 1): a temperature shows in as few, and each costs the test power
TEXTS, LENGTH = 5, 80  # of a setting: mlx-lm takes 10 ms a token on the CPU

# The parameters to ask with, in llama.cpp's names and order: filters see the model's own
# probabilities, unless the temperature comes first in the dialect.
SETTINGS: dict[str, dict[str, float]] = {
    "as the model says": {},
    "temperature 0.5": {"temperature": 0.5},
    "temperature 1.6": {"temperature": 1.6},
    "top_k 4": {"top_k": 4},
    "top_p 0.7": {"top_p": 0.7},
    "min_p 0.1": {"min_p": 0.1},
    "top_p 0.8, temperature 1.6": {"top_p": 0.8, "temperature": 1.6},
}


@dataclass(frozen=True)
class Uniforms:
    """The position of each token in its distribution. excluded: the first token with p 0."""

    values: NDArray[np.float64]
    excluded: str = ""


def check_distribution(
    client: Client, model: KnownModel, texts: int = TEXTS
) -> Iterator[ServerResult]:
    """Return a result for each setting. The chance that any of them fails for a right server is
    that of a run. Raises InputError if nothing decodes the model."""
    yield from observe_with(model, "law", setting_tests(texts), client)


def setting_tests(texts: int) -> dict[str, ModelTest]:
    return {name: partial(_as_distributed, name, texts) for name in SETTINGS}


def _as_distributed(name: str, texts: int, model: DecodedModel, client: Client) -> Observation:
    dialect, setting, known_model = client.dialect, SETTINGS[name], model.known
    missing = setting.keys() - {row.name for row in dialect.parameters if row.documented}
    if missing:
        return Observation("skipped", f"the dialect has no {', '.join(sorted(missing))}")
    rng = np.random.default_rng([len(name), texts])
    chain = chain_of(setting, dialect.temperature_first)
    values: list[NDArray[np.float64]] = []
    prompts = [*known_model.prompts.values()]
    for i in range(texts):
        prompt = prompts[i % len(prompts)]
        sent = {**dialect.neutral, **dialect.drawn, **setting, dialect.length: LENGTH}
        answer = client.complete(known_model.prompt_as_sent(prompt), {**sent, "seed": 500 + i})
        tokens = tokens_of(answer, known_model)
        if not tokens:
            why = answer.refusal or answer.got
            return Observation("error", f"no tokens to judge: {why}", answer)
        rows = model.rows(known_model.prompt_as_read(prompt), tokens[:-1], answer)
        uniforms = uniforms_of(rows, tokens, chain, rng)
        if uniforms.excluded:
            return Observation("other meaning", f"text {i}, {uniforms.excluded}", answer)
        values.append(uniforms.values)
    return _judged(np.concatenate(values), answer)


def _judged(uniforms: NDArray[np.float64], answer: Answer) -> Observation:
    """Judge whether they are uniform, at this setting's share of the run's error."""
    errors = Budget(len(SETTINGS)).each
    parts = np.full(PARTS, 1 / PARTS)
    counts = np.bincount((uniforms * PARTS).astype(int), minlength=PARTS)
    p_value = float(g_p_value(counts, parts))
    least = smallest_caught(len(uniforms), parts, errors)
    evidence = (
        f"{len(uniforms):,} tokens, fifths {', '.join(map(str, counts))}: p = {p_value:.2g}"
        f" (alpha {errors.alpha:.1g}); a total variation of {least:.2f} is caught"
    )
    figures = {"p": p_value, "tokens": float(len(uniforms)), "smallest_caught": least}
    rejected = p_value <= errors.alpha
    return Observation("other meaning" if rejected else "honoured", evidence, answer, figures)


def tokens_of(answer: Answer, model: KnownModel) -> list[int]:
    """Return the tokens drawn, with the one that ended the text before its length."""
    if answer.tokens is not None:
        return [*answer.tokens]
    tokens = [report.token.id for report in answer.reports]
    if any(token < 0 for token in tokens):
        return []
    ended = answer.ended == "stop" and tokens[-1:] != [model.vocab.eos]
    return [*tokens, model.vocab.eos] if ended else tokens


def chain_of(setting: Mapping[str, float], temperature_first: bool = False) -> ChainSpec:
    temperature: ChainSpec = [{"temp": {"temp": setting.get("temperature", 1.0)}}]
    chain: ChainSpec = [*temperature] if temperature_first else []
    if k := setting.get("top_k"):
        chain.append({"top_k": {"k": k}})
    for name in ("top_p", "min_p"):
        if name in setting:
            chain.append({name: {"p": setting[name], "min_keep": 1}})
    return [*chain, *([] if temperature_first else temperature), {"dist": {"seed": 0}}]


def distribution_of(row: Row, chain: ChainSpec) -> NDArray[np.float64]:
    """Return the reference's distribution: float64[n_vocab], sum 1."""
    candidates = Candidates.from_logits(np.array(row))
    build_chain(chain, n_vocab=len(row)).apply(candidates)
    p = np.zeros(len(row))
    p[candidates.ids] = candidates.p
    return np.asarray(p / p.sum())


def uniforms_of(
    rows: Row, tokens: list[int], chain: ChainSpec, rng: np.random.Generator
) -> Uniforms:
    """Map each token to its place: behind all that is more likely, by chance in its own share."""
    values: list[float] = []
    for i, (row, token) in enumerate(zip(rows, tokens, strict=True)):
        p = distribution_of(row, chain)
        share = float(p[token])
        if share == 0 and not _rounding(row, token, chain):
            return Uniforms(np.array(values), f"token {i} is {token}: excluded")
        more = float(p[p > share].sum())
        # Below 1, which belongs to none of the parts.
        values.append(min(more + rng.uniform() * share, np.nextafter(1, 0)))
    return Uniforms(np.array(values))


def _rounding(row: Row, token: int, chain: ChainSpec) -> bool:
    """Return whether logits that differ by rounding keep a token: all that is more likely becomes a
    little less so, the rest a little more."""
    likelier = row > row[token]
    moved = np.where(likelier, row - ROUNDING, row + ROUNDING).astype(np.float32)
    return bool(distribution_of(moved, chain)[token] > 0)
