"""Every sampler on every hard input: a documented result, equal to llama.cpp's where that is
defined, or UndefinedInputError; never another exception and never a warning."""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.signatures import SIGNATURES
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import Candidates, UndefinedInputError, build_chain
from sampler_parity.reference.registry import ROWS
from tests.support.applied import Spec, assert_as_native, native_stages
from tests.support.stages import ACTIVE, NAME_IDS

F32 = np.finfo(np.float32)
INF, NAN = np.inf, np.nan

# They see NaN only by comparing, where it simply loses, or put it through arithmetic.
NAN_PASSES = {
    "greedy", "dist", "min_p", "temp", "top_n_sigma", "penalties", "dry", "logit_bias",
    "adaptive_p", "grammar", "grammar_lazy_patterns",
}  # fmt: skip
NEED_VOCAB = {name for name, row in ROWS.items() if row.vocab}
# They normalize probabilities at once.
NONE_REFUSED = {
    "top_p", "typical_p", "mirostat", "mirostat_v2", "adaptive_p", "softmax", "infill",
}  # fmt: skip
NO_NATIVE = {"softmax", "tail_free"}
NATIVE = [stage for stage in ACTIVE if not NO_NATIVE & set(stage)]

INPUTS: dict[str, list[float]] = {
    "none": [],
    "one": [1.5],
    "one banned": [-INF],
    "one NaN": [NAN],
    "NaN first": [NAN, 1.0, 2.0],
    "NaN inside": [1.0, NAN, 2.0, 0.5],
    "NaN last": [1.0, 2.0, NAN],
    "all NaN": [NAN] * 3,
    "+inf": [0.0, INF, 1.0],
    "two +inf": [INF, 0.0, INF],
    "all +inf": [INF] * 3,
    "+inf and -inf": [-INF, INF, 0.0],
    "all banned": [-INF] * 4,
    "one not banned": [-INF, -INF, -2.0, -INF],
    "float32's limits": [float(F32.max), float(F32.min), 0.0, float(F32.max)],
    "denormals": [1e-45, 3e-45, -1e-45, 0.0, 1e-40],
    "zeros of both signs": [0.0, -0.0, 0.0, -0.0],
    "beyond the buckets": [*np.linspace(-3e9, 3e9, 300).tolist()],
}
HISTORY = [0, 1, 2, 0, 1]


def test_active_settings_cover_every_sampler_of_llama_cpp() -> None:
    assert set(NAME_IDS) == set(SIGNATURES)


def _vocab(name: str) -> str | None:
    return "bpe" if name in NEED_VOCAB else None


def _applied(stage: Spec, logits: list[float]) -> Candidates:
    vocab = read_vocab(vocab_path("bpe")) if NEED_VOCAB & set(stage[0]) else None
    chain = build_chain(stage, n_vocab=max(1, len(logits)), vocab=vocab)
    for token in HISTORY:
        chain.accept(token)
    cand = Candidates.from_logits(np.array(logits, np.float32))
    chain.apply(cand)
    return cand


def _refused(name: str, logits: list[float]) -> str:
    """Return the pattern of the refusal that the sampler's docstring states, or ''.

    min_p sorts only if no logit reaches its threshold, as with NaN alone.
    """
    nan = np.isnan(logits)
    if not logits and name in NONE_REFUSED:
        return r"^softmax of no candidates \(llama.cpp aborts\)$"
    if (
        len(logits) > 1
        and nan.any()
        and (name not in NAN_PASSES or (name == "min_p" and nan.all()))
    ):
        return f"^logit of token {nan.argmax()} is NaN: sorting it is undefined in llama.cpp$"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("logits", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("stage", ACTIVE, ids=NAME_IDS)
def test_a_hard_input_gives_a_documented_result_or_a_refusal(
    native: BackendProcess, stage: dict[str, dict[str, object]], logits: list[float]
) -> None:
    (name,) = stage
    refusal = _refused(name, logits)
    if refusal:
        with pytest.raises(UndefinedInputError, match=refusal):
            _applied([stage], logits)
        return
    cand = _applied([stage], logits)
    assert len(cand.ids) == len(cand.logits) == len(cand.p)
    assert set(cand.ids.tolist()) <= set(range(max(len(logits), 300)))
    if name not in NO_NATIVE:
        assert_as_native(native, [stage], logits, history=HISTORY, vocab=_vocab(name))


@pytest.mark.parametrize("name", ROWS)
def test_the_smallest_setting_gives_a_result_or_a_refusal(name: str) -> None:
    """Also of a sampler that llama.cpp lacks; another exception or a warning fails."""
    for logits in INPUTS.values():
        with suppress(UndefinedInputError):
            cand = _applied([{name: dict(ROWS[name].smallest)}], logits)
            assert len(cand.ids) == len(cand.logits) == len(cand.p)
            assert set(cand.ids.tolist()) <= set(range(len(logits)))


# Values of each parameter: every combination is tried.
MIN_KEEP = (0, 1, 300, 301, 2**62)
BIASES: Any = ([], [[-1, 1.0], [300, 1.0]], [[0, INF], [1, -INF]], [[0, 3e38], [0, 3e38]])
PARAMETERS: dict[str, dict[str, Sequence[Any]]] = {
    "top_k": {"k": (-(2**31), -1, 0, 1, 299, 300, 301, 2**31 - 1)},
    "top_p": {"p": (-3e38, -1, 0, 1e-45, 0.999, 1, 1.5, 3e38), "min_keep": MIN_KEEP},
    "min_p": {"p": (-1, 0, 1e-45, 0.5, 1, 1.5, 3e38), "min_keep": MIN_KEEP},
    "typical_p": {"p": (-1, 0, 1e-45, 0.999, 1, 1.5), "min_keep": MIN_KEEP},
    "temp": {"temp": (-3e38, -1, -0.0, 0, 1e-45, 1e-20, 1, 3e38)},
    "temp_ext": {
        "temp": (-1, 0, 0.5, 3e38), "delta": (-1, 0, 1e-45, 2, 3e38), "exponent": (-1, 0, 0.5, 100)
    },
    "xtc": {
        "p": (-1, 0, 1, 2), "t": (-1, 0, 0.001, 0.5, 0.6), "seed": (1,), "min_keep": (0, 300, 2**62)
    },
    "top_n_sigma": {"n": (-1, 0, 1e-45, 1, 1e30, 3e38)},
    "mirostat": {
        "seed": (1,), "tau": (-5, 0, 5, 1e30, 3e38), "eta": (-1, 0, 0.1),
        "m": (-(2**31) + 1, -1, 0, 1, 2, 2**31 - 1),
    },
    "mirostat_v2": {"seed": (1,), "tau": (-5, 0, 5, 1e30, 3e38), "eta": (-1, 0, 0.1, 1e30)},
    "penalties": {
        "penalty_last_n": (-1, 0, 1, 3, 10_000), "penalty_repeat": (1e-38, 0.5, 1, 3e38),
        "penalty_freq": (-3e38, 0, 0.1),
    },
    "dry": {
        "dry_multiplier": (-1, 0, 3e38), "dry_base": (0.5, 1, 1.000001, 3e38),
        "dry_allowed_length": (-5, 0, 2, 100), "dry_penalty_last_n": (-1, 0, 2, 1000),
    },
    "logit_bias": {"logit_bias": BIASES},
    "adaptive_p": {"target": (-1, 0, 0.5, 1, 3e38), "decay": (-1, 0, 0.99, 5), "seed": (1,)},
    "dist": {"seed": (0, 1, 2**32 - 2)},
}  # fmt: skip


def _rows() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    return {
        "normal": rng.normal(0, 3, 300).astype(np.float32),
        "tied": np.round(rng.normal(0, 2, 300)).astype(np.float32),
        "banned": np.where(rng.random(300) < 0.9, -INF, 1.5).astype(np.float32),
    }


@pytest.mark.slow
@pytest.mark.parametrize("row", _rows().values(), ids=_rows())
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_hard_parameter_works_as_natively(
    native: BackendProcess, name: str, row: NDArray[np.float32]
) -> None:
    """Two steps each; ids outside the vocabulary in a history longer than a window of 3.

    adaptive_p alone must not be given -1 (see below).
    """
    outside = -2 if name == "adaptive_p" else -1
    history = [7, 8, 9, 7, 8, 9, 100_000, outside, 7, 8]
    for values in itertools.product(*PARAMETERS[name].values()):
        stage = {name: dict(zip(PARAMETERS[name], values, strict=True))}
        assert_as_native(native, [stage], row, history=history, steps=2)


@pytest.mark.slow
@pytest.mark.parametrize("stage", NATIVE, ids=[name for stage in NATIVE for name in stage])
def test_no_candidates_abort_llama_cpp_where_they_are_refused(
    native: BackendProcess, stage: dict[str, dict[str, object]]
) -> None:
    """llama.cpp gives us no choice: a process that tries it dies of an assertion."""
    (name,) = stage
    if name in NONE_REFUSED:
        with pytest.raises(BackendFailure, match=r"GGML_ASSERT\(cur_p->size > 0\) failed") as died:
            native_stages(native, [stage], [], vocab=_vocab(name))
        assert died.value.verdict == "crashed"
    else:
        ((got,),) = native_stages(native, [stage], [], vocab=_vocab(name))
        assert len(got.ids) == 0


def test_adaptive_p_aborts_llama_cpp_where_no_draw_is_accepted(native: BackendProcess) -> None:
    """Accepting -1, which stands for no token, with nothing drawn."""
    stage: Spec = [{"adaptive_p": {"target": 0.5, "seed": 1}}]
    with pytest.raises(BackendFailure, match="GGML_ASSERT") as died:
        native_stages(native, stage, [0.0, 1.0], history=[-1])
    assert died.value.verdict == "crashed"
    with pytest.raises(UndefinedInputError, match="accepts token -1 with nothing drawn"):
        build_chain(stage).accept(-1)


def test_a_nan_makes_llama_cpps_sort_depend_on_where_it_stands(native: BackendProcess) -> None:
    """top_k of 1: with the NaN first it is kept for the largest, elsewhere 2 is. No order of the
    logits explains both, so the reference refuses."""
    stage: Spec = [{"top_k": {"k": 1}}]
    ((first,),) = native_stages(native, stage, [NAN, 1.0, 2.0])
    assert np.isnan(first.logits[0])
    ((inside,),) = native_stages(native, stage, [1.0, NAN, 2.0])
    assert inside.logits.tolist() == [2.0]
