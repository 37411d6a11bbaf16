"""`python -m studies.native.interface [FOLDER]`: the functions of llama.h other than sampling.

Copying a state into another sampler, taking a stage out of a chain, several outputs of a sequence
in one batch, seeds, counters, names and null pointers: each compared with the reference or with the
comments of llama.h. No suite has them, for no other engine has them. One line for each difference.
FOLDER: of a libllama v0.5.0; the installed one by default.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator
from ctypes import POINTER, c_double, c_float, c_int32, c_uint32, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.stages.classify import identical
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.llama_cpp.decode import Context, Model
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.signatures import SIGNATURES, has
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference import Candidates, Chain, build_chain
from sampler_parity.reference.pipelines.graph_samplers import WIDTH, select, soft_max
from sampler_parity.reference.registry import ROWS

NEWEST = "v0.5.0"
NO_SEED = 0xFFFFFFFF  # LLAMA_DEFAULT_SEED
N = 303  # tokens of the vocabulary bpe
PROMPT = [317, 72, 101, 108, 108, 111]  # of the golden model


LARGE = np.arange(100_000, dtype=np.float32)


class Counters(ctypes.Structure):
    """llama_perf_sampler_data."""

    _fields_ = (("t_sample_ms", c_double), ("n_sample", c_int32))


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "llama_sampler_copy": (None, [c_void_p, c_void_p]),
    "llama_sampler_get_seed": (c_uint32, [c_void_p]),
    "llama_perf_sampler": (Counters, [c_void_p]),
    "llama_perf_sampler_print": (None, [c_void_p]),
    "llama_perf_sampler_reset": (None, [c_void_p]),
    "llama_get_sampled_token_ith": (c_int32, [c_void_p, c_int32]),
    "llama_get_sampled_probs_ith": (POINTER(c_float), [c_void_p, c_int32]),
}


class Native(Worker):
    """The worker of llama.cpp and the further functions, by name in `c`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), NEWEST)
        self.c: dict[str, Callable[..., Any]] = {}
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.library._library, name)
            function.restype, function.argtypes = result, arguments
            self.c[name] = function

    def made(self, chain: ChainSpec) -> NativeChain:
        return self.build(complete(chain, N), N, str(vocab_path("bpe")))


def row(seed: int) -> NDArray[np.float32]:
    return GeneratedLogits(family="normal", n=N, seed=seed).row(0)


def reference(chain: ChainSpec) -> Chain:
    return build_chain(complete(chain, N), n_vocab=N, vocab=read_vocab(vocab_path("bpe")))


def chains() -> Iterator[ChainSpec]:
    """Yield every sampler of llama.cpp at its smallest setting, and one chain of many."""
    newest = [name for name in SIGNATURES if has(name, NEWEST)]
    for name in newest:
        stage: dict[str, dict[str, Any]] = {name: dict(ROWS[name].smallest)}
        yield [stage] if ROWS[name].kind == "select" else [stage, {"dist": {"seed": 3}}]
    many = ("logit_bias", "penalties", "dry", "top_k", "xtc", "temp_ext")
    yield [*({name: dict(ROWS[name].smallest)} for name in many), {"dist": {"seed": 5}}]


def accepted(chain: Chain | NativeChain, tokens: list[int]) -> None:
    for token in tokens:
        chain.accept(token)


def step(native: Native, chain: NativeChain, twin: Chain, seed: int) -> bool:
    """Return whether stages and chain match the reference to the bit on the same row."""
    want = Candidates.from_logits(row(seed))
    stages = [stage.candidates for stage in twin.trace(want)]
    by_stage, whole = native.candidates(row(seed)), native.candidates(row(seed))
    same = True
    for i, expected in enumerate(stages):
        chain.apply(i, by_stage)
        same &= identical(expected, got(native, by_stage))
    chain.apply(None, whole)
    same &= identical(stages[-1], got(native, whole))
    if want.token is not None:
        accepted(chain, [want.token])
        accepted(twin, [want.token])
    return same


def got(native: Native, candidates: Any) -> Got:
    ids, logits, p, is_sorted, selected = native.result(candidates)
    return Got(ids, logits, p, is_sorted, selected)


def copies(native: Native) -> Iterator[str]:
    """Check that a copy continues as the original, from any state, and leaves the original
    unchanged.
    """
    copy = native.c["llama_sampler_copy"]
    for chain in chains():
        original, other, twin = native.made(chain), native.made(chain), reference(chain)
        tokens = [] if any("grammar" in name for name in chain[0]) else [7, 8, 9, 7, 8, 9, 7]
        accepted(original, tokens)
        accepted(twin, tokens)
        same = step(native, original, twin, 1)
        step(native, other, reference(chain), 2)  # another state, to be written over
        for source, target in zip(
            (*original.stages, original.chain), (*other.stages, other.chain), strict=True
        ):
            copy(source, target)
            copy(source, source)
        second = twin.clone()
        for i in range(3):
            same &= step(native, original, twin, 3 + i) and step(native, other, second, 13 - i)
        if not same:
            yield f"{chain} goes on otherwise than the original"
    copy(None, None)


def clones(native: Native) -> Iterator[str]:
    """Check that a clone made between a sampler's choice and its acceptance gets the acceptance,
    too.

    Not of adaptive_p, whose clone reads out of bounds then; the reference refuses it.
    """
    for chain in (chain for chain in chains() if "adaptive_p" not in chain[0]):
        original, twin = native.made(chain), reference(chain)
        whole, want = native.candidates(row(1)), Candidates.from_logits(row(1))
        for i in range(len(chain)):
            original.apply(i, whole)
        original.apply(None, native.candidates(row(1)))
        twin.apply(want)
        other, second = original.clone(), twin.clone()
        if want.token is not None and "grammar" not in "".join(chain[0]):
            for one in (original, other, twin, second):
                accepted(one, [want.token])
        same = [
            step(native, *pair, seed)
            for seed in (2, 3)
            for pair in ((original, twin), (other, second))
        ]
        if not all(same):
            yield f"{chain} goes on otherwise"


def removals(native: Native) -> Iterator[str]:
    """Check the rest of a chain after a stage is taken out of it."""
    remove = native.library.llama_sampler_chain_remove
    stages: ChainSpec = [
        {"top_k": {"k": 20}},
        {"temp": {"temp": 0.7}},
        {"min_p": {"p": 0.1}},
        {"dist": {"seed": 4}},
    ]
    for i in range(len(stages) - 1):
        chain, twin = native.made(stages), reference([*stages[:i], *stages[i + 1 :]])
        native.library.llama_sampler_free(remove(chain.chain, i))
        whole, want = native.candidates(row(1)), Candidates.from_logits(row(1))
        chain.apply(None, whole)
        twin.apply(want)
        if not identical(want, got(native, whole)):
            yield f"stage {i} taken out of {stages}"
        if any(remove(chain.chain, j) for j in (-1, len(stages) - 1)):
            yield "a stage that is not there is taken out"


def seeds(native: Native) -> Iterator[str]:
    """Check seeds: of samplers that draw from their seed alone, of the last of a chain, of no
    other.
    """
    expected: list[tuple[ChainSpec, int]] = [
        ([{"dist": {"seed": 7}}], 7),
        ([{"mirostat": {"seed": 8}}], 8),
        ([{"mirostat_v2": {"seed": 9}}], 9),
        ([{"dist": {"seed": 7}}, {"mirostat": {"seed": 8}}, {"top_k": {"k": 3}}], 8),
        ([{"top_k": {"k": 3}}, {"xtc": {"p": 0.5, "t": 0.1, "seed": 6}}], NO_SEED),
    ]
    for chain, seed in expected:
        made = native.made(chain)
        reported = {native.c["llama_sampler_get_seed"](made.chain)}
        reported |= (
            {native.c["llama_sampler_get_seed"](made.stages[0])} if len(chain) == 1 else set()
        )
        if reported != {seed}:
            yield f"{chain}: {reported}, {seed} expected"
    by_chance = native.made([{"dist": {"seed": NO_SEED}}])
    own, clone = (
        native.c["llama_sampler_get_seed"](made.chain) for made in (by_chance, by_chance.clone())
    )
    if own != clone:
        yield f"a clone of the seed {own}, which the machine gave, has {clone}"


def counters(native: Native) -> Iterator[str]:
    """Check that a chain counts the tokens that it accepts, until the counter is reset."""
    params = native.library.llama_sampler_chain_default_params()
    params.no_perf = False
    chain, other = (native.library.llama_sampler_chain_init(params) for _ in range(2))
    for n in (3, 0):
        for token in range(n):
            native.library.llama_sampler_accept(chain, token)
        native.c["llama_perf_sampler_print"](chain)
        native.c["llama_sampler_copy"](chain, other)
        for one in (chain, other):
            counted = native.c["llama_perf_sampler"](one)
            if counted.n_sample != n or (n == 0 and counted.t_sample_ms != 0):
                yield f"{counted.n_sample} counted, {n} accepted"
        native.c["llama_perf_sampler_reset"](chain)
    select = native.library.initializer("top_k")[1](1)
    native.library.llama_sampler_chain_add(chain, select)
    for _ in range(20):  # each takes longer than the clock's microsecond
        large = native.candidates(LARGE)
        native.library.llama_sampler_apply(chain, ctypes.byref(large.array))
    if not 0 < native.c["llama_perf_sampler"](chain).t_sample_ms < 60_000:
        yield "the time of 20 calls is not taken"
    native.library.llama_sampler_free(chain)
    native.library.llama_sampler_free(other)


NAMES = {"typical_p": b"typical", "temp_ext": b"temp-ext", "top_k": b"top-k", "top_p": b"top-p",
         "min_p": b"min-p", "adaptive_p": b"adaptive-p", "top_n_sigma": b"top-n-sigma",
         "logit_bias": b"logit-bias", "mirostat_v2": b"mirostat-v2",
         "grammar_lazy_patterns": b"grammar"}  # fmt: skip


def names(native: Native) -> Iterator[str]:
    """Check the names of each sampler and of the chain."""
    name = native.library.llama_sampler_name
    for chain in chains():
        made = native.made(chain)
        for stage, sampler in zip(chain, made.stages, strict=True):
            (own,) = stage
            if name(sampler) != NAMES.get(own, own.encode()):
                yield f"{own} calls itself {name(sampler)!r}"
        if name(made.chain) != b"chain":
            yield f"a chain calls itself {name(made.chain)!r}"


OFF: tuple[dict[str, dict[str, Any]], ...] = (
    {"top_k": {"k": 0}}, {"top_p": {"p": 1.0}}, {"min_p": {"p": 0.0}}, {"typical_p": {"p": 1.0}},
    {"temp": {"temp": 1.0}}, {"temp_ext": {"temp": 1.0, "delta": 0.0}}, {"top_n_sigma": {"n": 0.0}},
    {"xtc": {"p": 0.5, "t": 0.6, "seed": 1}}, {"xtc": {"p": 0.0, "t": 0.1, "seed": 1}},
    {"penalties": {"penalty_last_n": 0, "penalty_repeat": 1.1}}, {"logit_bias": {"logit_bias": []}},
    {"dry": {"dry_multiplier": 0.8, "dry_penalty_last_n": 0}}, {"dry": {"dry_multiplier": 0.0}},
)  # fmt: skip


def off(native: Native) -> Iterator[str]:
    """Check that parameters which switch a sampler off make another one, with a name of its own."""
    for stage in OFF:
        (own,) = stage
        made = native.made([stage])
        named = native.library.llama_sampler_name(made.stages[0])
        if named != b"?" + NAMES.get(own, own.encode()):
            yield f"{stage} calls itself {named!r}"


def null_pointers(native: Native) -> Iterator[str]:
    """Check that without a sampler nothing happens, and nothing comes back."""
    library = native.library
    library.llama_sampler_accept(None, 1)
    library.llama_sampler_apply(None, None)
    library.llama_sampler_reset(None)
    library.llama_sampler_free(None)
    chain = native.made([{"greedy": {}}])
    get = library.llama_sampler_chain_get
    nothing = [library.llama_sampler_clone(None), get(None, 0), get(chain.stages[0], 0)]
    nothing += [get(chain.chain, i) for i in (-2, 1)]
    if any(nothing) or get(chain.chain, -1) != chain.chain:
        yield f"{nothing}"


def several_outputs(native: Native) -> Iterator[str]:
    """Check three outputs of a sequence in one batch.

    Each draws with the next number; only numbers of accepted tokens are used up. Penalties leave
    the graph for the CPU.
    """
    model = Model(native.library, vocab_path("small"))
    spread: ChainSpec = [{"temp": {"temp": 0.8}}, {"dist": {"seed": 11}}]
    penalties: dict[str, dict[str, Any]] = {
        "penalties": {"penalty_last_n": 8, "penalty_repeat": 1.3}
    }
    for chain in (spread, [penalties, {"dist": {"seed": 11}}]):
        yield from _in_batches(native, model, complete(chain, model.n_vocab))


def _in_batches(native: Native, model: Model, chain: ChainSpec) -> Iterator[str]:
    made = native.build(chain, model.n_vocab, None)
    drawn_in_graph = "temp" in chain[0]
    twin = build_chain(chain, n_vocab=model.n_vocab)
    plain = Context(model, 64)
    graph = Context(model, 64, chains=[made.chain], outputs=3)
    for batch, accepts in enumerate((1, 3, 2, 0, 2)):
        tokens = [PROMPT[(batch + i) % len(PROMPT)] for i in range(3)]
        rows = [row.copy() for row in plain.decode_all(tokens, 3)]
        graph.decode_all(tokens, 3)
        if drawn_in_graph:
            yield from _drawn(native, graph, rows, twin.clone())
        if batch == 1 and drawn_in_graph:
            yield from _copies_in_a_batch(native, made, chain, twin)
        for i in range(accepts):
            want = Candidates.from_logits(rows[i])
            twin.apply(want)  # which draws as well
            token = made.sample(graph.pointer, i)
            if not drawn_in_graph and token != want.token:
                yield f"{chain}, batch {batch}, output {i}: {token}, {want.token} expected"
            twin.accept(token)
    name = native.library.llama_sampler_name(
        made.stages[0] if drawn_in_graph else _first(native, made)
    )
    if name != (b"temp" if drawn_in_graph else b"-penalties"):
        yield f"{chain}: its first stage calls itself {name!r}"
    if drawn_in_graph:
        yield from _goes_on(native, made, chain, twin)
    plain.close()
    graph.close()


def _first(native: Native, made: NativeChain) -> int:
    return int(native.library.llama_sampler_chain_get(made.chain, 0))


def _drawn(
    native: Native, graph: Context, rows: list[NDArray[np.float32]], twin: Chain
) -> Iterator[str]:
    """Check that each output's token follows from the returned p and the next number."""
    for i, logits in enumerate(rows):
        pointer = native.c["llama_get_sampled_probs_ith"](graph.pointer, i)
        p = np.ctypeslib.as_array(pointer, (len(logits),))
        uniform = np.float32(twin.samplers[-1].rng.uniform_double())  # type: ignore[attr-defined]
        token = native.c["llama_get_sampled_token_ith"](graph.pointer, i)
        if token != select(p, uniform):
            yield f"output {i} draws {token}, {select(p, uniform)} expected of {uniform}"
        error = abs(p - soft_max(logits * (np.float32(1) / np.float32(0.8)))).max()
        if error > WIDTH:
            yield f"output {i}: p differs by {error}"


def _copies_in_a_batch(
    native: Native, made: NativeChain, chain: ChainSpec, twin: Chain
) -> Iterator[str]:
    """Check a clone and a copy in the midst of a batch of three.

    The clone knows how many were drawn, and takes no more from them; the copy has no graph, and
    draws at once.
    """
    clone, copy = made.clone(), native.build(chain, N, None)
    native.c["llama_sampler_copy"](made.chain, copy.chain)
    for accepts, other in ((5, clone), (5, copy)):
        second = twin.clone()
        if other is clone:
            for _ in range(3):
                second.samplers[-1].rng.uniform_double()  # type: ignore[attr-defined]
        for token in range(accepts):
            native.library.llama_sampler_accept(other.chain, token)
        whole, want = native.candidates(row(1)), Candidates.from_logits(row(1))
        other.apply(None, whole)
        second.apply(want)
        if not identical(want, got(native, whole)):
            which = "clone" if other is clone else "copy"
            yield f"a {which} in the midst of a batch draws another number"


def _goes_on(native: Native, made: NativeChain, chain: ChainSpec, twin: Chain) -> Iterator[str]:
    """Check that a copy has the draws and acceptances of the graph: it draws the next number."""
    other = native.build(chain, N, None)
    native.c["llama_sampler_copy"](made.chain, other.chain)
    whole, want = native.candidates(row(1)), Candidates.from_logits(row(1))
    other.apply(None, whole)
    twin.apply(want)
    if not identical(want, got(native, whole)):
        yield "a copy does not draw the number behind those that were accepted"


Check = Callable[[Native], Iterator[str]]
CHECKS: tuple[Check, ...] = (
    copies, clones, removals, seeds, counters, names, off, null_pointers, several_outputs,
)  # fmt: skip


def main() -> int:
    native = Native(Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder())
    differences = [f"{check.__name__}: {line}" for check in CHECKS for line in check(native)]
    print("\n".join(differences or ["as in the reference and llama.h"]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
