"""infill: decide between more text and the end, for fill-in-the-middle.

Use it after top_k and top_p. `n` is the number of candidates.

1. If 3 * p(end) * n > p(text), only the end-of-generation tokens stay.
2. Otherwise, a token that is a prefix of another one is merged with it, into the likelier of both.
3. Text tokens below 0.2 are removed. If no text token stays, one EOT (EOS) token replaces all.
4. The rest is normalized. Text tokens below 1 / (text tokens + 1) are removed. The rest is
   normalized again.

Parameters: none; it needs a vocabulary (`build_chain(..., vocab=...)`).
Ties: the order of llama.cpp's sort. If equal tokens are merged, the first one stays.
Edges: -inf takes no part in merging. A token that was merged into another has p = 0 and logit -inf.
    Special tokens have an empty piece and merge with nothing. Pieces longer than 512 bytes are
    refused. So are ids outside the vocabulary if pieces are compared (llama.cpp throws). A NaN
    logit: refused. No candidates: refused (llama.cpp aborts).
Source: `llama_sampler_infill_apply`, src/llama-sampler.cpp at v0.5.0.
Suite: suites/parity/infill.toml
"""

from collections import defaultdict

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.sampler import Stateless
from sampler_parity.reference.vocab import Vocab

MAX_PIECE_BYTES = 512


class Infill(Stateless):
    name = "infill"

    def __init__(self, vocab: Vocab | None = None) -> None:
        if vocab is None:
            raise ChainError("infill needs a vocabulary (vocab)")
        if max(vocab.eot, vocab.eos) < 0:
            raise ChainError("infill needs a vocabulary with an EOT or EOS token")
        self.vocab = vocab
        self.end = vocab.eot if vocab.eot >= 0 else vocab.eos
        self.eog = np.array(sorted(vocab.eog), np.int32)

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=True)
        kind = cand.p.dtype.type
        ends = cand.among(self.eog)
        p_end, p_text = floats.total(cand.p[ends]), floats.total(cand.p[~ends])
        if self._exceeds(kind(3) * p_end * kind(len(cand)), p_text):
            cand.keep(ends)
            cand.p /= floats.total(cand.p)
            return
        self._merge_prefixes(cand)
        likeliest = slice(1)
        before = cand.copy()
        self._drop_text_below(cand, np.float32(0.2))
        n_text = int((~cand.among(self.eog)).sum())
        if n_text == 0:
            if len(cand) == 0:
                cand.ids, cand.logits, cand.p = before.ids, before.logits, before.p
            cand.keep(likeliest)
            cand.ids[0] = self.end
            cand.logits[0] = 1
            return
        cand.p /= floats.total(cand.p)
        self._drop_text_below(cand, np.float32(1.0 / (n_text + 1)))
        cand.p /= floats.total(cand.p)

    def _exceeds(self, a: floats.Float, b: floats.Float) -> bool:
        return bool(a > b)

    def _drop_text_below(self, cand: Candidates, threshold: np.float32) -> None:
        cand.keep(~(cand.p < threshold) | cand.among(self.eog))

    def _merge_prefixes(self, cand: Candidates) -> None:
        if cand.ids.max() >= len(self.vocab):
            raise UndefinedInputError("infill meets an id outside the vocabulary: llama.cpp throws")
        pieces = [self.vocab.piece(token) for token in cand.ids.tolist()]
        if any(len(piece) > MAX_PIECE_BYTES for piece in pieces):
            raise UndefinedInputError("infill meets a piece of over 512 bytes: llama.cpp throws")
        starting: dict[bytes, list[int]] = defaultdict(list)
        for j, piece in enumerate(pieces):
            for end in range(1, len(piece) + 1):
                starting[piece[:end]].append(j)
        p, alive = cand.p.copy(), cand.logits != -np.inf
        for i, prefix in enumerate(pieces):
            for j in starting.get(prefix, ()):
                if not alive[i]:
                    break
                if i == j or not alive[j]:
                    continue
                into, merged = (j, i) if self._exceeds(p[j], p[i]) else (i, j)
                p[into] += p[merged]
                p[merged] = 0
                alive[merged] = False
        cand.p = p
        cand.logits = np.where(alive, cand.logits, cand.logits.dtype.type(-np.inf))
