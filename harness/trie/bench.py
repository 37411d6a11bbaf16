"""`sampler-parity trie-bench`: the time that a token trie saves compared with a grammar.

strict-trie-ffi: each prompt is generated from in every way of WAYS, round by round in random order,
so that what disturbs one disturbs all; the ratio comes of pairs. strict-guided: the grammars alone.
All ways are greedy. The clock runs from the prompt's last token to the end of the leaf: it includes
set_token_trie (cached), and not the making of the grammar.
docs/background/token-trie.md explains the figures.
"""

import hashlib
import random
import statistics
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp.token_trie import NativeTrie, Worker
from sampler_parity.harness.protocol.measured import (
    Interval,
    LeafDivergence,
    Measured,
    Mode,
    OwnCosts,
    SetCosts,
    Way,
)
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval
from sampler_parity.harness.trie.exact import divergences
from sampler_parity.harness.trie.grammar import Baseline, Span, own_costs, set_costs, trie_left
from sampler_parity.harness.trie.model import modelled
from sampler_parity.harness.trie.session import CompiledTries, Session, build_tries
from sampler_parity.harness.trie.workloads import (
    PROMPTS,
    read_descriptor,
    text_grammar,
    text_of,
    token_grammar,
)
from sampler_parity.reference import ChainError
from sampler_parity.reference.trie import Node, build_trie, count_nodes

GUIDED = ("grammar_first", "grammar_resample")
WAYS: tuple[str, ...] = (*GUIDED, "trie", "trie_one_by_one")
RESAMPLES = 2000  # of the bootstrap
OWN_TIMES, SET_TIMES = 2, 20  # repetitions: the cost of the samplers alone, and of setting a trie

Row = NDArray[np.float32]
# of each way, the span of each prompt, round by round
Spans = dict[str, list[list[Span]]]


class Bench:
    """A model, prompts, the leaves of a payload, and every way to generate one of them.

    descriptor: a workload's name, a JSON file, or the texts. worker: llama.cpp; by default the one
    installed. delay_ms: added to every forward pass that is timed, as with a larger
    model. compiled: the trie's samplers are those of C++; it needs the llama.cpp installed. Raises
    InputError for what does not fit together, Unsupported for a build that cannot generate.
    """

    def __init__(
        self,
        model: str,
        descriptor: str | list[str],
        prompts: tuple[str, ...] = PROMPTS,
        grammar: str = "",
        model_id: str = "",
        worker: Worker | None = None,
        delay_ms: float = 0.0,
        compiled: bool = False,
    ) -> None:
        path = model_path(model)
        model_id = model_id or path.stem
        self.model, self.worker = model, worker or Worker()
        if "generate" not in self.worker.hello().capabilities:
            raise Unsupported(f"llama.cpp {self.worker.library.release} decodes no model here")
        tries = CompiledTries() if compiled else None
        self.session = Session(
            self.worker, path, [{"greedy": {}}], model_id=model_id, compiled=tries
        )
        self.vocab, self.delay_s = read_vocab(path), delay_ms / 1000
        self.prompts = [self.session.tokenize(prompt, special=True) for prompt in prompts]
        if not all(self.prompts):
            raise InputError("prompts", "one has no tokens", "remove it")
        self.json, self.payload = read_descriptor(
            descriptor, model_id, lambda text: self.session.tokenize(text, special=False)
        )
        try:
            self.payload.check(self.session.model.n_vocab, model_id)
        except ChainError as error:
            name = descriptor if isinstance(descriptor, str) else "leaves"
            raise InputError(name, str(error), "see docs/background/token-trie.md") from None
        self.leaves = self.payload.descriptors[0].leaves
        texts = [text_of(leaf.tokens, self.vocab) for leaf in self.leaves]
        self.texts = {text.encode() for text in texts}
        self.gbnf = grammar or text_grammar(texts)
        self.most = 4 * max(len(text) for text in self.texts)

    def grammar(self, text: str, first: bool) -> Baseline:
        return Baseline(self.session, self.worker, text, self.texts, first)

    def begin(self, prompt: list[int]) -> None:
        self.session.rewind(0)
        self.session.prefill(prompt)

    def trie_span(self, skip_ahead: bool) -> Span:
        start = time.perf_counter_ns()
        self.session.set_token_trie(self.json, 0)
        generation = self.session.generate(self.most, skip_ahead, to_leaf=True)
        ns = time.perf_counter_ns() - start
        return Span(tuple(generation.tokens), ns, generation.sampler_ns, generation.decode_ns)

    def leaf_rows(self, prompt: list[int], tokens: tuple[int, ...]) -> list[tuple[int, Row]]:
        """Return the tokens of a leaf, and the logits before each."""
        self.begin(prompt)
        rows = []
        pending = self.session.pending
        for token in tokens:
            rows.append((token, self.session.context.decode(pending).copy()))
            pending = [token]
        return rows

    def sampler(self, compact: bool) -> int:
        """Make a llama_sampler of mode 1 of the trie that is measured."""
        if self.session.compiled is not None:
            return self.session.compiled.sampler(self.json, 1, compact)
        flat = build_tries(self.payload).by_path[self.payload.descriptors[0].path]
        return NativeTrie(self.session.library, flat, 1, compact).pointer

    def close(self) -> None:
        self.session.close()
        if self.session.compiled is not None:
            self.session.compiled.close()


def measure(bench: Bench, mode: Mode, rounds: int, seed: int) -> Spans:
    """Generate from each prompt in each way, rounds times, in random order; one round more warms
    up.

    Raises InputError if a way takes other tokens in another round: then nothing can be compared.
    """
    ways: tuple[str, ...] = GUIDED if mode == "strict-guided" else WAYS
    grammars = {method: bench.grammar(bench.gbnf, method == "grammar_first") for method in GUIDED}
    order = random.Random(seed)
    spans: Spans = {method: [] for method in ways}
    for turn in range(rounds + 1):
        row: dict[str, list[Span]] = {method: [] for method in ways}
        for prompt in bench.prompts:
            for method in order.sample(ways, len(ways)):
                bench.begin(prompt)
                if method in grammars:
                    row[method].append(grammars[method].generate(bench.most))
                else:
                    row[method].append(bench.trie_span(skip_ahead=method == "trie"))
        for method, sessions in row.items():
            if turn > 0:
                spans[method].append(sessions)
            if [s.tokens for s in sessions] != [s.tokens for s in (spans[method] or [sessions])[0]]:
                raise InputError("trie-bench", f"{method} took other tokens in another round")
    return spans


def tokens_per_s(spans: list[Span]) -> float:
    return sum(len(span.tokens) for span in spans) * 1e9 / sum(span.ns for span in spans)


def ratio(pairs: list[tuple[Span, Span]], seed: int) -> tuple[float, Interval]:
    """Return the tokens per second of the first over the second, with its 95% interval from
    RESAMPLES bootstrap draws of the pairs."""
    tokens = np.array([[len(a.tokens), len(b.tokens)] for a, b in pairs], np.float64)
    ns = np.array([[a.ns, b.ns] for a, b in pairs], np.float64)

    def of(which: Any, axis: int = -1) -> Any:
        speed = tokens[which].sum(-2) / ns[which].sum(-2)
        return speed[..., 0] / speed[..., 1]

    indices = np.arange(len(pairs))
    value = float(of(indices))
    if len(pairs) < 2:
        return value, (value, value)
    return value, bootstrap_interval((indices,), of, RESAMPLES, seed=seed)


def agreement(got: list[tuple[int, ...]], expected: list[tuple[int, ...]]) -> float:
    """Return the share of positions with the same token, counted over the longer of each pair."""
    same = sum(
        a == b for g, w in zip(got, expected, strict=True) for a, b in zip(g, w, strict=False)
    )
    return same / sum(max(len(g), len(w)) for g, w in zip(got, expected, strict=True))


def run(bench: Bench, mode: Mode, rounds: int = 5, seed: int = 0) -> Measured:
    """Measure a bench. Raises InputError."""
    bench.session.context.delay_s = bench.delay_s
    spans = measure(bench, mode, rounds, seed)
    bench.session.context.delay_s = 0.0
    return _result(bench, mode, spans, seed)


def _result(bench: Bench, mode: Mode, spans: Spans, seed: int) -> Measured:
    method = "trie" if mode == "strict-trie-ffi" else "grammar_first"
    flat = {name: [span for row in rows for span in row] for name, rows in spans.items()}
    tokens = {name: [span.tokens for span in rows[0]] for name, rows in spans.items()}
    vs_first, vs_first_ci = ratio(list(zip(flat[method], flat["grammar_first"], strict=True)), seed)
    vs_again, vs_again_ci = ratio(
        list(zip(flat[method], flat["grammar_resample"], strict=True)), seed
    )
    n_left, own_cost = _candidates_left(bench, method, tokens[method])
    exact = children_of(build_trie(bench.leaves), tokens[method]) if method == "trie" else n_left
    n = bench.session.model.n_vocab
    skips = [(n - passes) / n for passes in n_left]
    texts = {k: [_text(bench, t) for t in of_way] for k, of_way in tokens.items()}
    of_spelling = _by_token_grammar(bench) if method == "trie" else tokens["grammar_resample"]
    hello = bench.worker.hello()
    ways = {name: _way(of_way) for name, of_way in flat.items()}
    saved = sum(span.saved for span in spans[method][0])
    total = sum(len(span.tokens) for span in spans[method][0])
    return Measured(
        mode=mode,
        model=bench.model,
        skip_ratio_mean=statistics.fmean(skips),
        skip_ratio_std=statistics.pstdev(skips),
        tokens_per_second=tokens_per_s(flat[method]),
        tokens_per_second_vs_grammar=vs_first,
        token_accuracy=agreement(tokens[method], of_spelling),
        forward_passes_saved=saved,
        forward_passes_total=total,
        skip_ratio_exact=statistics.fmean((n - k) / n for k in exact) if method == "trie" else None,
        skip_ratio_off=sum(passes != k for passes, k in zip(n_left, exact, strict=True)),
        tokens_per_second_vs_grammar_ci95=vs_first_ci,
        tokens_per_second_vs_resampling=vs_again,
        tokens_per_second_vs_resampling_ci95=vs_again_ci,
        token_agreement_with_grammar=agreement(tokens[method], tokens["grammar_first"]),
        text_accuracy=_share(texts[method], texts["grammar_first"]),
        n_vocab=n,
        pairs=len(flat[method]),
        ways=ways,
        modelled=modelled(ways[method], ways["grammar_first"]),
        own_us_per_step=own_cost,
        **_setting_up(bench),
        law=_divergences(bench),
        version=hello.version,
        device=hello.device,
        tokens_sha256=hashlib.sha256(
            np.array(sum(tokens[method], ()), "<i4").tobytes()
        ).hexdigest(),
    )


def _share(got: list[bytes], expected: list[bytes]) -> float:
    return sum(g == w for g, w in zip(got, expected, strict=True)) / len(got)


def _text(bench: Bench, tokens: tuple[int, ...]) -> bytes:
    return b"".join(bench.vocab.piece(token) for token in tokens)


def _by_token_grammar(bench: Bench) -> list[tuple[int, ...]]:
    """Return the tokens that the grammar gives if it allows the trie's own spellings alone."""
    grammar = bench.grammar(token_grammar([leaf.tokens for leaf in bench.leaves]), first=True)
    tokens = []
    for prompt in bench.prompts:
        bench.begin(prompt)
        tokens.append(grammar.generate(bench.most).tokens)
    return tokens


def _candidates_left(
    bench: Bench, method: str, tokens: list[tuple[int, ...]]
) -> tuple[list[int], OwnCosts]:
    """Return how many candidates the constraint leaves at each step, counted after llama.cpp's own
    call, and the cost of the constraint alone."""
    grammar = bench.grammar(bench.gbnf, first=True)
    n_left: list[int] = []
    costs: list[OwnCosts] = []
    for prompt, taken in zip(bench.prompts, tokens, strict=True):
        steps = bench.leaf_rows(prompt, taken)
        costs.append(own_costs(bench.session.library, bench.sampler, grammar, steps, OWN_TIMES))
        if method == "trie":
            n_left += trie_left(bench.session.library, bench.sampler, steps)
            continue
        grammar.reset()
        for token, row in steps:
            n_left.append(grammar.mask(row))
            grammar.accept(token)
    names = ("masking", "compacting", "grammar")
    return n_left, OwnCosts(**{n: statistics.median(getattr(c, n) for c in costs) for n in names})


def children_of(root: Node, leaves: list[tuple[int, ...]]) -> list[int]:
    """Return how many tokens can follow at each step of these leaves, by the reference's trie; 0
    after a token that is not in it."""
    counts = []
    for leaf in leaves:
        node: Node | None = root
        for token in leaf:
            counts.append(len(node.children) if node else 0)
            node = node.children.get(token) if node else None
    return counts


def _way(spans: list[Span]) -> Way:
    sampling = [ns for span in spans for ns in span.sampler_ns]
    decoding = [ns for span in spans for ns in span.decode_ns]
    tokens = sum(len(span.tokens) for span in spans)
    return Way(
        tokens_per_second=tokens_per_s(spans),
        forward_passes_per_token=len(decoding) / tokens,
        sampler_us_per_step=statistics.median(sampling) / 1000 if sampling else None,
        decode_us_per_pass=statistics.median(decoding) / 1000 if decoding else None,
        sampler_us_mean=statistics.fmean(sampling) / 1000 if sampling else None,
        decode_us_mean=statistics.fmean(decoding) / 1000 if decoding else None,
        resampled_share=sum(span.resampled for span in spans) / tokens,
    )


def _setting_up(bench: Bench) -> dict[str, Any]:
    """Measure the size of the trie and the cost of setting it, and of reading the grammar."""
    costs: SetCosts = set_costs(bench.session, bench.json, SET_TIMES)
    grammar = bench.grammar(bench.gbnf, first=True)
    nodes = count_nodes(build_trie(bench.leaves))
    tokens = sum(len(leaf.tokens) for leaf in bench.leaves)
    flat = build_tries(bench.payload).by_path[bench.payload.descriptors[0].path]
    return {
        "leaves": len(bench.leaves),
        "leaf_tokens_mean": tokens / len(bench.leaves),
        "shared_tokens": 1 - (nodes - 1) / tokens,
        "trie_nodes": nodes,
        "trie_bytes": flat.nbytes,
        "set_token_trie_us": costs,
        "read_grammar_us": statistics.median(grammar.reset() for _ in range(5)) / 1000,
    }


def _divergences(bench: Bench) -> LeafDivergence:
    """Compute how far the masks move the distribution after the first prompt."""
    bench.session.rewind(0)
    return divergences(bench.session.context, bench.vocab, bench.prompts[0], bench.leaves)
