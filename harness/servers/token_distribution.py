"""The tokens of a server whose generator is its own, against the exact law of each.

Every token has a law of its own: the filters and the temperature of the request on the logits after
the tokens before it. A draw is taken to where it lies in that law, most likely first: a number that
is uniform on [0, 1) whatever the law, and independent of those before (Rosenblatt 1952); within a
token's share by chance. Their counts in equal parts are judged by `g_p_value`, which holds for any
number of draws. A token that the law excludes, and rounding does not explain, is proof.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.server import ServerResult, ServerVerdict
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.protocol.ask import Row
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.observation import Fact, Told, rows_of, told
from sampler_parity.harness.servers.oracle.decoder import Logits
from sampler_parity.harness.servers.oracle.model import Known
from sampler_parity.harness.statistics.fit import g_p_value
from sampler_parity.harness.statistics.plan import Budget, smallest_caught
from sampler_parity.reference import Candidates

PARTS = 5  # of [0, 1): a temperature shows in as few, and each costs the test power
TEXTS, LENGTH = 5, 80  # of a setting: mlx-lm takes 10 ms a token on the CPU
# Of a logprob, between two engines on the golden model's float16 weights: twice what 240 of MLX LM
# 0.32.2 were off llama.cpp's by at most, 0.0019; of 1,331 of it and of vLLM later 0.0024.
ROUNDING = 0.004

# What is asked, in llama.cpp's names and order: filters see the model's own probabilities, unless
# the dialect says that the temperature comes first.
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
class Draws:
    """uniforms: of each token where it lies in its law. excluded: the first that a law has not."""

    uniforms: NDArray[np.float64]
    excluded: str = ""


def check_law(client: Client, known: Known, texts: int = TEXTS) -> Iterator[ServerResult]:
    """A result for each setting; the chance that any of them is wrong of a right server is that of
    a run. Raises InputError where nothing decodes the model."""
    with closing(known.logits()) as logits:
        yield from told("law", facts_of(known, logits, texts), client)


def facts_of(known: Known, logits: Logits, texts: int) -> dict[str, Fact]:
    return {name: partial(_in_law, name, known, logits, texts) for name in SETTINGS}


def _in_law(name: str, known: Known, logits: Logits, texts: int, client: Client) -> Told:
    dialect, setting = client.dialect, SETTINGS[name]
    missing = setting.keys() - {row.name for row in dialect.parameters if row.documented}
    if missing:
        return Told("skipped", f"the dialect has no {', '.join(sorted(missing))}")
    rng = np.random.default_rng([len(name), texts])
    draws: list[Draws] = []
    prompts = [*known.prompts.values()]
    for i in range(texts):
        prompt = prompts[i % len(prompts)]
        sent = {**dialect.neutral, **dialect.drawn, **setting, dialect.length: LENGTH}
        answer = client.complete(known.sent(prompt), {**sent, "seed": 500 + i})
        tokens = tokens_of(answer, known)
        if not tokens:
            return Told("error", f"no tokens to judge: {answer.refusal or answer.got}", answer)
        rows = rows_of(logits, known.read(prompt), tokens[:-1], answer)
        chain = chain_of(setting, dialect.temperature_first)
        draws.append(uniforms_of(rows, tokens, chain, rng))
        if draws[-1].excluded:
            return Told("other meaning", f"text {i}, {draws[-1].excluded}", answer)
    return _judged(np.concatenate([one.uniforms for one in draws]), answer)


def _judged(uniforms: NDArray[np.float64], answer: Answer) -> Told:
    """Whether they are uniform, at this setting's share of the run's error."""
    errors = Budget(len(SETTINGS)).each
    parts = np.full(PARTS, 1 / PARTS)
    counts = np.bincount((uniforms * PARTS).astype(int), minlength=PARTS)
    p_value = float(g_p_value(counts, parts))
    least = smallest_caught(len(uniforms), parts, errors)
    shares = ", ".join(f"{count}" for count in counts)
    said = (
        f"{len(uniforms):,} tokens, fifths {shares}: p = {p_value:.2g} (alpha {errors.alpha:.1g})"
    )
    figures = {"p": p_value, "tokens": float(len(uniforms)), "smallest_caught": least}
    verdict: ServerVerdict = "other meaning" if p_value <= errors.alpha else "honoured"
    return Told(verdict, f"{said}; a total variation of {least:.2f} is caught", answer, figures)


def tokens_of(answer: Answer, known: Known) -> list[int]:
    """Those drawn: where the text ended before its length, what ended it is one of them."""
    if answer.tokens is not None:
        return [*answer.tokens]
    tokens = [place.token.id for place in answer.places]
    if any(token < 0 for token in tokens):
        return []
    ended = answer.ended == "stop" and tokens[-1:] != [known.vocab.eos]
    return [*tokens, known.vocab.eos] if ended else tokens


def chain_of(setting: Mapping[str, float], temperature_first: bool = False) -> ChainSpec:
    temperature: ChainSpec = [{"temp": {"temp": setting.get("temperature", 1.0)}}]
    chain: ChainSpec = [*temperature] if temperature_first else []
    if k := setting.get("top_k"):
        chain.append({"top_k": {"k": k}})
    for name in ("top_p", "min_p"):
        if name in setting:
            chain.append({name: {"p": setting[name], "min_keep": 1}})
    return [*chain, *([] if temperature_first else temperature), {"dist": {"seed": 0}}]


def law_of(row: Row, chain: ChainSpec) -> NDArray[np.float64]:
    """float64[n_vocab], sum 1: as the reference computes it."""
    candidates = Candidates.from_logits(np.array(row))
    build_chain(chain, n_vocab=len(row)).apply(candidates)
    p = np.zeros(len(row))
    p[candidates.ids] = candidates.p
    return np.asarray(p / p.sum())


def uniforms_of(rows: Row, tokens: list[int], chain: ChainSpec, rng: np.random.Generator) -> Draws:
    """Where each token lies in its law: below it all that is more likely, and of its own share a
    part by chance."""
    uniforms: list[float] = []
    for i, (row, token) in enumerate(zip(rows, tokens, strict=True)):
        law = law_of(row, chain)
        share = float(law[token])
        if share == 0 and not _rounding(row, token, chain):
            problem = f"token {i} is {token}, which the law excludes"
            return Draws(np.array(uniforms), problem)
        more = float(law[law > share].sum())
        uniforms.append(min(more + rng.uniform() * share, np.nextafter(1, 0)))
    return Draws(np.array(uniforms))


def _rounding(row: Row, token: int, chain: ChainSpec) -> bool:
    """Whether logits that differ from these by rounding have it: all that is more likely a little
    less so, the rest a little more."""
    likelier = row > row[token]
    moved = np.where(likelier, row - ROUNDING, row + ROUNDING).astype(np.float32)
    return bool(law_of(moved, chain)[token] > 0)
