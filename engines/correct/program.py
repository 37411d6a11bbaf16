"""Engines that are programs in another language: a sampler is one call over a pipe.

Python keeps parameters, history, random numbers and vocabulary; the program computes. A call is a
text of 64 bytes, `NAME n sorted selected numbers whole`, then float64[numbers], int32[whole],
int32[n] ids, float32[n] logits and float32[n] p. The answer is `n sorted selected numbers` in 64
bytes, then float64[numbers], ids, logits and p.
"""

import subprocess
from collections import Counter
from typing import Any

import numpy as np

from sampler_parity.engines.correct.ops import Ops
from sampler_parity.engines.correct.samplers import SAMPLERS, Apply, prefixes, repeated
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError

HEAD = 64
NEEDS_CANDIDATES = {"top_p", "typical_p", "mirostat", "mirostat_v2", "infill", "adaptive_p"}


class Program(Ops):
    """A program that runs as long as this process."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe)

    def call(self, name: str, cand: Candidates, numbers: Any = (), whole: Any = ()) -> Any:
        """Apply a sampler to the candidates and return the numbers of its state."""
        if len(cand) == 0 and name in NEEDS_CANDIDATES:
            raise UndefinedInputError(f"{name} of no candidates")
        to, back = self.process.stdin, self.process.stdout
        assert to is not None
        assert back is not None
        sent = np.array(numbers, np.float64), np.array(whole, np.int32).ravel()
        flags = f"{int(cand.sorted)} {cand.selected}"
        head = f"{name} {len(cand)} {flags} {len(sent[0])} {len(sent[1])}"
        arrays = (*sent, cand.ids, cand.logits, cand.p)
        to.write(head.ljust(HEAD).encode() + b"".join(array.tobytes() for array in arrays))
        to.flush()
        n, is_sorted, cand.selected, count = map(int, back.read(HEAD).split())
        cand.sorted = bool(is_sorted)
        state = np.frombuffer(back.read(8 * count), np.float64)
        cand.ids = np.frombuffer(back.read(4 * n), np.int32).copy()
        cand.logits = np.frombuffer(back.read(4 * n), np.float32).copy()
        cand.p = np.frombuffer(back.read(4 * n), np.float32).copy()
        return state


def with_parameters(name: str, *keys: str) -> Apply:
    """Return a sampler that needs its parameters alone."""

    def apply(program: Any, cand: Candidates, of: Any) -> None:
        program.call(name, cand, [getattr(of, key) for key in keys])

    return apply


def dist(program: Any, cand: Candidates, of: Any) -> None:
    program.call("dist", cand, [of.rng.uniform_double() if len(cand) else 0])


def xtc(program: Any, cand: Candidates, of: Any) -> None:
    if of.p > 0 and of.t <= 0.5 and len(cand) > 1 and of.rng.uniform_float() <= of.p:
        program.call("xtc", cand, [of.t, of.min_keep])


def steered(name: str, *keys: str) -> Apply:
    """Return mirostat or mirostat_v2. One candidate takes no random number, and how many are left
    is known afterwards."""

    def apply(program: Any, cand: Candidates, of: Any) -> None:
        ahead = of.rng.clone().uniform_double()
        numbers = [of.mu, of.tau, of.eta, ahead, *(getattr(of, key) for key in keys)]
        (mu,) = program.call(name, cand, numbers)
        of.mu = np.float32(mu)
        if len(cand) > 1:
            of.rng.uniform_double()

    return apply


def penalties(program: Any, cand: Candidates, of: Any) -> None:
    numbers = [of.penalty_repeat, of.penalty_freq, of.penalty_present]
    if of.penalty_last_n > 0 and numbers != [1, 0, 0]:
        program.call("penalties", cand, numbers, [*Counter(of.history).items()])


def dry(program: Any, cand: Candidates, of: Any) -> None:
    found = repeated(of)
    if found is not None:
        numbers = [of.dry_multiplier, of.dry_base, of.dry_allowed_length]
        program.call("dry", cand, numbers, [*found.items()])


def logit_bias(program: Any, cand: Candidates, of: Any) -> None:
    tokens = [token for token, _ in of.logit_bias]
    program.call("logit_bias", cand, [bias for _, bias in of.logit_bias], tokens)


def ignore_eos(program: Any, cand: Candidates, of: Any) -> None:
    logit_bias(program, cand, of.bans)


def infill(program: Any, cand: Candidates, of: Any) -> None:
    pairs = [int(cand.ids[at]) for pair in prefixes(cand, of) for at in pair] if len(cand) else []
    program.call("infill", cand, [of.end, len(of.eog)], [*of.eog, *pairs])


def adaptive_p(program: Any, cand: Candidates, of: Any) -> None:
    u = of.rng.uniform_double() if len(cand) > 1 else 0
    numbers = [of.target, of.weighted_sum, of.total_weight, u]
    of.original_p = program.call("adaptive_p", cand, numbers).astype(np.float32)
    if of.target >= 0:
        of.pending_token, of.pending_index = int(cand.ids[cand.selected]), cand.selected


CALLS: dict[str, Apply] = SAMPLERS | {
    "greedy": with_parameters("greedy"),
    "dist": dist,
    "top_k": with_parameters("top_k", "k"),
    "top_p": with_parameters("top_p", "p", "min_keep"),
    "min_p": with_parameters("min_p", "p", "min_keep"),
    "typical_p": with_parameters("typical_p", "p", "min_keep"),
    "temp": with_parameters("temp", "temp"),
    "temp_ext": with_parameters("temp_ext", "temp", "delta", "exponent"),
    "xtc": xtc,
    "top_n_sigma": with_parameters("top_n_sigma", "n"),
    "mirostat": steered("mirostat", "m", "n_vocab"),
    "mirostat_v2": steered("mirostat_v2"),
    "penalties": penalties,
    "dry": dry,
    "logit_bias": logit_bias,
    "ignore_eos": ignore_eos,
    "infill": infill,
    "adaptive_p": adaptive_p,
}
