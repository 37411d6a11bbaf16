"""token_trie, wrong in ways of more than a few lines: token_trie.toml has the others."""

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


MUTANTS = [
    Mutant("token_trie/masks-one-node-late", MasksOneNodeLate, case="token_trie/walks-to"),
    Mutant("token_trie/child-of-any-parent", ChildOfAnyParent, case="token_trie/random"),
]
