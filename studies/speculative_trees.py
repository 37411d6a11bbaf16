"""`python -m studies.speculative_trees`: SGLang's kernel for trees, by its exact distribution.

Rows are eighths, so that every comparison of the kernel with a number is exact. The kernel gets
each number of a grid on which its outcome can change: the shares of the outcomes are the exact
distribution of a round. It must be that of the rule. A line for each tree and pair of thresholds
has the rule's distance from the target: the largest total variation of a token from its row, behind
each accepted prefix. With both thresholds at 1 it is 0.

`... faults` plants the faults `sglang_siblings` of engines/shared/verifier_faults.toml. Needs g++
and `sampler-parity engines add sglang_kernels`. Exit status 1 if a distribution is another one, or
a fault is not caught.
"""

import itertools
import math
import sys
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.sglang.tree import compiled
from sampler_parity.engines.shared.triton_files import Edit
from sampler_parity.engines.shared.verifiers import edits_of, faults
from sampler_parity.harness.backends.environments import packages_of
from sampler_parity.reference.speculative.chance import Chance, Row, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import draw

EIGHTHS = 8
Law = dict[tuple[int, ...], Fraction]


@dataclass(frozen=True)
class Tree:
    """Drafts. Node 0 is the last token of the text. parents: of each further node, those of one
    parent in their order. tokens: of the further nodes. rows: behind each node, in eighths."""

    parents: tuple[int, ...]
    tokens: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]

    def children(self, node: int) -> list[int]:
        return [i for i, parent in enumerate(self.parents, 1) if parent == node]

    def row(self, node: int) -> Row:
        return np.array([Fraction(of, EIGHTHS) for of in self.rows[node]])

    @property
    def depth(self) -> int:
        """Nodes of the longest path, the root included."""
        depths = [1]
        for parent in self.parents:
            depths.append(depths[parent] + 1)
        return max(depths)


TREES = {
    "chain": Tree((0, 1), (1, 0), ((2, 4, 1, 1), (4, 0, 2, 2), (1, 2, 3, 2))),
    "siblings": Tree(
        (0, 0, 0), (2, 0, 4), ((1, 2, 3, 1, 1), (8, 0, 0, 0, 0), (0, 4, 4, 0, 0), (1, 1, 2, 2, 2))
    ),
    "two-levels": Tree(
        (0, 0, 1, 1, 2),
        (1, 3, 0, 2, 1),
        ((2, 3, 1, 2), (4, 2, 2, 0), (0, 4, 4, 0), (2, 2, 2, 2), (8, 0, 0, 0), (1, 1, 4, 2)),
    ),
    "impossible": Tree(
        (0, 0, 1, 1),
        (0, 2, 3, 1),
        ((0, 4, 2, 2), (2, 2, 2, 2), (4, 4, 0, 0), (0, 0, 4, 4), (8, 0, 0, 0)),
    ),
    "all-of-the-row": Tree((0, 0), (3, 1), ((0, 6, 0, 2), (2, 4, 0, 2), (0, 0, 8, 0))),
}
THRESHOLDS = ((1.0, 1.0), (0.25, 1.0), (1.0, 0.5), (0.5, 0.5))


def law_of_the_rule(tree: Tree, single: Fraction, accumulated: Fraction) -> Law:
    """Return the distribution of the tokens of a round."""

    def round_of(chance: Chance) -> tuple[int, ...]:
        node = 0
        out: list[int] = []
        while True:
            coin, reached, rest, accepted = chance.uniform(), Fraction(0), tree.row(node), 0
            for child in tree.children(node):
                token = tree.tokens[child - 1]
                p = tree.row(node)[token]
                reached += p
                if p > 0 and (chance.below(coin, reached / accumulated) or p >= single):
                    accepted = child
                    break
                rest[token] = Fraction(0)
            if not accepted:
                return (*out, draw(chance, rest))
            node = accepted
            out.append(tree.tokens[node - 1])

    return dict(enumerate_outcomes(round_of))


def law_of_the_kernel(tree: Tree, single: float, accumulated: float, edits: Any = ()) -> Law:
    """Return the distribution of the kernel's rounds, by all numbers of a grid."""
    nodes = len(tree.rows)
    inner = [node for node in range(nodes) if tree.children(node)]
    left = {EIGHTHS}
    for node in inner:
        taken = 0
        for child in tree.children(node):
            taken += tree.rows[node][tree.tokens[child - 1]]
            left.add(EIGHTHS - taken)
    last = math.lcm(*(left - {0}))
    grid = list(itertools.product(*[range(EIGHTHS)] * len(inner), range(last)))
    n, vocabulary = len(grid), len(tree.rows[0])
    coins = np.zeros((n, nodes), np.float32)
    coins[:, inner] = (np.array(grid)[:, :-1] + 0.5) / EIGHTHS
    final = ((np.array(grid)[:, -1] + 0.5) / last).astype(np.float32)
    index = np.arange(n * nodes, dtype=np.int64).reshape(n, nodes)
    first = [next(iter(tree.children(node)), -1) for node in range(nodes)]
    sibling = [-1] * nodes
    for node in inner:
        for one, other in itertools.pairwise(tree.children(node)):
            sibling[one] = other
    target = np.tile(np.array(tree.rows, np.float32) / EIGHTHS, (n, 1, 1))
    predicts = np.full(n * nodes, -1, np.int32)
    accepted, count = np.full((n, tree.depth), -1, np.int32), np.zeros(n, np.int32)
    compiled(edits, threads=32)(
        *(predicts, accepted, count, tiled(n, (0, *tree.tokens)), index),
        *(tiled(n, first), tiled(n, sibling), coins, final, target, np.zeros_like(target)),
        *(tree.depth, vocabulary, single, accumulated),
    )
    rounds = Counter(tuple(predicts[accepted[i, : count[i] + 1]].tolist()) for i in range(n))
    return {tokens: Fraction(times, n) for tokens, times in rounds.items()}


def tiled(n: int, row: Any) -> NDArray[np.int64]:
    return np.tile(np.array(row, np.int64), (n, 1))


def distance(tree: Tree, law: Law) -> Fraction:
    """Return the largest total variation of a token from its row, behind an accepted prefix."""
    largest = Fraction(0)
    paths: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for node, before in paths:
        paths += [(child, (*before, tree.tokens[child - 1])) for child in tree.children(node)]
        got = np.array([Fraction(0)] * len(tree.rows[0]))
        for tokens, p in law.items():
            if len(tokens) > len(before) and tokens[: len(before)] == before:
                got[tokens[len(before)]] += p
        if got.sum():
            largest = max(largest, abs(got / got.sum() - tree.row(node)).sum() / 2)
    return largest


def print_trees() -> int:
    """Print a line for each tree and pair of thresholds; return how many differ from the rule."""
    failed = 0
    for name, tree in TREES.items():
        for single, accumulated in THRESHOLDS:
            law = law_of_the_kernel(tree, single, accumulated)
            same = law == law_of_the_rule(tree, Fraction(single), Fraction(accumulated))
            far = distance(tree, law)
            wrong = not same or (single == accumulated == 1 and far != 0)
            failed += wrong
            print(
                f"{'different' if wrong else 'equal':<10}{name:<15} single {single}, "
                f"accumulated {accumulated}: {len(law)} rounds, {float(far):.3f} from the target",
                flush=True,
            )
    return failed


def print_faults() -> int:
    """Print a line for each fault, and return how many are not caught."""
    rows = [row for row in faults() if "sglang_siblings" in row]
    missed = 0
    for row in rows:
        tree = TREES[row["cell"]]
        edits = tuple(Edit("sampling.cuh", *pair) for pair in edits_of(row, "sglang_siblings"))
        law = law_of_the_kernel(tree, 1.0, 1.0, edits)
        caught = law != law_of_the_rule(tree, Fraction(1), Fraction(1))
        missed += not caught
        word = "caught  " if caught else "SURVIVED"
        far = f"{float(distance(tree, law)):.3f} from the target"
        print(f"{word} {row['name']:<27} {row['cell']:<15} {far}", flush=True)
    print(f"sglang_siblings: {len(rows) - missed} of {len(rows)} faults are caught")
    return missed


def main(words: list[str]) -> int:
    sys.path += [str(folder) for folder in packages_of("sglang_kernels")]
    return int((print_faults() if "faults" in words else print_trees()) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
