"""token_trie: inside a span, keep only the tokens that a trie allows next.

    logit_i = -inf  unless i is a child of the current node;  mode 0: selected = the largest of them

Apply masks while the trie is active. Accept moves to the child. The span ends at the end of a leaf,
or with a token that is no child. While the trie is not active, accept still follows its position
from the root, and apply masks nothing. Place it after stages that change the logits of all tokens
(logit_bias, penalties, dry). Place it before stages that remove candidates (top_k to temp), or no
child may be left.

Parameters:
    `trie_descriptor_json`  The payload: reference/trie.py.
    `mode`      0 selects the largest logit of the children. 1 leaves the selection to later stages.
    `path`      Path of the descriptor. An empty string takes the first.
    `across`    True opens the next descriptor's span at the end of a leaf. After the last
                descriptor no span opens.
    `compact`   True removes the other candidates and does not mask them. The rest of the chain then
                works on a handful of candidates. The token is the same.
    `model_id`  Must be equal to the payload's. An empty string skips the check.
    `n_vocab`   Every token of the payload must be below it. None skips the check.
Activation: a new trie is active, at the root. A reset leaves it inactive at the root.
    `activate()` opens the next span, from the first descriptor on. A span of `LIMIT` tokens causes
    a warning and a reset.
Ties: mode 0 takes the first child in the order of the candidates. The candidates keep their order.
Edges: if no child is among the candidates, or all children are at -inf, everything becomes -inf and
    nothing is removed. The next stage then selects a token outside the trie, which ends the span.
    Masking clears `sorted` and the selected token. A NaN is never the largest. No candidates:
    nothing happens.
Source: the seed document of the token-trie sampler, as docs/background/token-trie.md reads it.
Suite: suites/trie/token_trie.toml
"""

import logging
from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import integer
from sampler_parity.reference.trie import MAX_LEAF, Node, build_trie, read_payload

LIMIT = MAX_LEAF
BEFORE_TRIE = ("logit_bias", "penalties", "dry")  # they change the logits of all tokens
SPAN_TOO_LONG = "token trie: %d tokens without an end of the span: reset; was the clear forgotten?"

_log = logging.getLogger(__name__)


class TokenTrie:
    name = "token_trie"

    def __init__(
        self,
        trie_descriptor_json: Any,
        mode: Any = 0,
        path: Any = "",
        compact: Any = False,
        model_id: Any = "",
        n_vocab: Any = None,
        across: Any = False,
    ) -> None:
        self.mode = integer("mode", mode, 0, 1)
        for key, text in (("path", path), ("model_id", model_id)):
            if not isinstance(text, str):
                raise ChainError(f"{key} must be a text, got {text!r}")
        for key, flag in (("compact", compact), ("across", across)):
            if not isinstance(flag, bool):
                raise ChainError(f"{key} must be true or false, got {flag!r}")
        payload = read_payload(trie_descriptor_json)
        payload.check(n_vocab, model_id)
        self.compact = compact
        descriptors = payload.onward(path) if across else (payload.descriptor(path),)
        self.roots = tuple(build_trie(descriptor.leaves) for descriptor in descriptors)
        self.activate()

    def activate(self) -> None:
        """Open the first span at its root."""
        self._go_to(0, active=True)

    def _go_to(self, span: int, active: bool) -> None:
        self.span, self.active = span, active
        self.node = self.root
        self.age = 0  # tokens since the span was opened: its document's position_in_span

    @property
    def root(self) -> Node:
        return self.roots[self.span]

    def apply(self, cand: Candidates) -> None:
        if not self.active or not self.node.children:
            return
        allowed = cand.among(np.array(sorted(self.node.children)))
        cand.selected = -1
        if self.compact and (cand.logits[allowed] != -np.inf).any():
            cand.keep(allowed)
        else:
            cand.logits = np.where(allowed, cand.logits, cand.logits.dtype.type(-np.inf))
            cand.sorted = False
        if self.mode == 0 and len(cand) > 0:
            cand.selected = floats.first_largest(cand.logits)

    def accept(self, token: int) -> None:
        child = self.node.children.get(token)
        if child is None:
            self.active = False
            child = self.root.children.get(token, self.root)
        self.node = child
        self.age += 1
        if not child.children:
            if self.active and self.span + 1 < len(self.roots):
                self._go_to(self.span + 1, active=True)
            else:
                self.active = False
        if self.age == LIMIT:
            _log.warning(SPAN_TOO_LONG, LIMIT)
            self.reset()

    def reset(self) -> None:
        self._go_to(0, active=False)

    def clone(self) -> "TokenTrie":
        twin = TokenTrie.__new__(TokenTrie)
        twin.mode, twin.compact, twin.roots = self.mode, self.compact, self.roots
        twin.span, twin.node = self.span, self.node
        twin.active, twin.age = self.active, self.age
        return twin
