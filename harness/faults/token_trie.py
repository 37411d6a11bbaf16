"""token_trie, wrong in one way each."""

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.token_trie import TokenTrie
from sampler_parity.reference.trie import Node


class MasksOneNodeLate(TokenTrie):
    """The children of the node before the current one are let through."""

    def activate(self) -> None:
        super().activate()
        self.before = self.root

    def accept(self, token: int) -> None:
        self.before = self.node
        super().accept(token)

    def reset(self) -> None:
        super().reset()
        self.before = self.root

    def apply(self, cand: Candidates) -> None:
        now, self.node = self.node, self.before
        super().apply(cand)
        self.node = now

    def clone(self) -> "TokenTrie":
        twin = super().clone()
        twin.before = self.before  # type: ignore[attr-defined]
        return twin


class NotReset(TokenTrie):
    """reset does nothing."""

    def reset(self) -> None:
        pass


class ResetMasksOn(TokenTrie):
    """reset leaves the trie active, so that it masks text outside the span."""

    def reset(self) -> None:
        super().reset()
        self.active = True


class AcceptIgnored(TokenTrie):
    """accept does nothing: the trie stays at its root."""

    def accept(self, token: int) -> None:
        pass


class ChildOfAnyParent(TokenTrie):
    """A token leads to the first node that it leads to from anywhere."""

    def accept(self, token: int) -> None:
        child = _any_parent(self.root, token)
        if child is not None and token in self.node.children:
            self.node = child
            self.active = self.active and bool(child.children)
        else:
            super().accept(token)


def _any_parent(root: Node, token: int) -> Node | None:
    level = [root]
    while level:
        for node in level:
            if token in node.children:
                return node.children[token]
        level = [child for node in level for child in node.children.values()]
    return None


class BeginsAgain(TokenTrie):
    """At the end of a leaf the span begins again."""

    def accept(self, token: int) -> None:
        active = self.active
        super().accept(token)
        if active and not self.node.children:
            self.activate()


class MasksOutside(TokenTrie):
    """A token outside the trie leaves it active, where it is."""

    def accept(self, token: int) -> None:
        if token in self.node.children or not self.active:
            super().accept(token)


class StaysSorted(TokenTrie):
    """Masked candidates still count as sorted."""

    def apply(self, cand: Candidates) -> None:
        before = cand.sorted
        super().apply(cand)
        cand.sorted = before


class ArgmaxOfAll(TokenTrie):
    """Mode 0 selects the largest of all logits and masks afterwards."""

    def apply(self, cand: Candidates) -> None:
        masks = self.active and self.node.children and self.mode == 0 and len(cand) > 0
        best = int(cand.ids[cand.logits.argmax()]) if masks else -1
        super().apply(cand)
        at = np.flatnonzero(cand.ids == best)
        if masks and len(at):
            cand.selected = int(at[0])


class CompactsToNothing(TokenTrie):
    """Where no child is left, the compacting version leaves no candidate."""

    def apply(self, cand: Candidates) -> None:
        if self.active and self.node.children and self.compact:
            cand.keep(np.isin(cand.ids, list(self.node.children)))
        super().apply(cand)


class SortsChildren(TokenTrie):
    """The compacting version puts the children in descending order."""

    def apply(self, cand: Candidates) -> None:
        before = len(cand)
        super().apply(cand)
        if len(cand) < before:
            cand.keep(np.argsort(-cand.logits, kind="stable"))
            if self.mode == 0:
                cand.selected = 0


class StopsAtTheBoundary(TokenTrie):
    """The end of the first leaf ends the span, across descriptors or not."""

    def accept(self, token: int) -> None:
        self.roots = self.roots[: self.span + 1]
        super().accept(token)


class GoesRound(TokenTrie):
    """Behind the last descriptor the first one follows again."""

    def accept(self, token: int) -> None:
        active = self.active
        super().accept(token)
        if active and len(self.roots) > 1 and not self.node.children:
            self.activate()


class CloneBegins(TokenTrie):
    """A clone is at the first descriptor's root."""

    def clone(self) -> "TokenTrie":
        twin = super().clone()
        if self.span > 0:
            twin.activate()
        return twin


MUTANTS = [
    Mutant("token_trie/masks-one-node-late", MasksOneNodeLate, case="token_trie/walks-to"),
    Mutant("token_trie/not-reset", NotReset, case="token_trie/reset-ends"),
    Mutant("token_trie/reset-masks-on", ResetMasksOn, case="token_trie/reset-ends"),
    Mutant("token_trie/accept-ignored", AcceptIgnored, case="token_trie/walks-to"),
    Mutant("token_trie/child-of-any-parent", ChildOfAnyParent, case="token_trie/random"),
    Mutant("token_trie/begins-again", BeginsAgain, case="token_trie/no-mask-after"),
    Mutant("token_trie/masks-outside", MasksOutside, case="token_trie/a-token-outside"),
    Mutant("token_trie/stays-sorted", StaysSorted, case="token_trie/masked-candidates"),
    Mutant("token_trie/argmax-of-all", ArgmaxOfAll, case="token_trie/argmax-of"),
    Mutant("token_trie/compacts-to-nothing", CompactsToNothing, case="token_trie/no-child-left"),
    Mutant("token_trie/stops-at-the-boundary", StopsAtTheBoundary, case="token_trie/across-the"),
    Mutant("token_trie/goes-round", GoesRound, case="token_trie/across-to"),
    Mutant("token_trie/clone-begins", CloneBegins, case="token_trie/across-clones"),
    Mutant("token_trie/sorts-children", SortsChildren, case="token_trie/random"),
]
