"""State scripts on the samplers of older releases: reset, clone, several instances in turn."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import SAMPLERS, Candidates, Chain, build_chain
from sampler_parity.reference.releases import CHANGES, samplers_of

SPM = read_vocab(vocab_path("spm"))  # has no EOT token
STAGES: dict[str, dict[str, Any]] = {
    "dist": {"seed": 3},
    "top_k": {"k": 0},
    "top_p": {"p": 0.8},
    "min_p": {"p": 0.3},
    "typical_p": {"p": 0.7},
    "temp": {"temp": 0.0},
    "temp_ext": {"temp": 0.5, "delta": 0.4},
    "xtc": {"p": 0.5, "t": 0.1, "seed": 3},
    "top_n_sigma": {"n": 0.0},
    "mirostat": {"seed": 3, "tau": 2.0},
    "mirostat_v2": {"seed": 3, "tau": 2.0},
    "penalties": {"penalty_last_n": 3, "penalty_freq": 0.5},
    "dry": {"dry_multiplier": 1.0, "dry_penalty_last_n": -1, "dry_allowed_length": 1},
    "infill": {},
}
# State that a clone lost: test_release_meanings.py tests it.
OF_CLONES = {"mirostat-clone-anew", "penalties-clone-uncounted", "dry-no-clone"}
N = 8  # of seven equals each has less than a fifth: infill ends, where id 2, an end, is banned

Script = list[tuple[str, int, int]]
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["apply", "apply", "accept", "accept", "clone", "reset"]),
        st.integers(0, 3),  # which of the instances, modulo their number
        st.integers(0, 2),  # which row or token
    ),
    min_size=4,
    max_size=14,
)
ROWS = np.array([[0.0] * N, [2, 1, 0, 0, -np.inf, 3, 0, 1], [0, 0, -np.inf, 0, 0, 0, 0, 0]])


def build(sampler: str, names: set[str]) -> Chain:
    samplers = samplers_of(names)
    assert samplers[sampler] is not SAMPLERS[sampler]
    return build_chain([{sampler: STAGES[sampler]}], samplers=samplers, n_vocab=N, vocab=SPM)


def done(chain: Chain, operation: str, value: int) -> Candidates | None:
    """Do an operation on one instance and return its candidates, if it has any."""
    if operation == "reset":
        chain.reset()
    elif operation == "accept":
        chain.accept(value)
    else:
        cand = Candidates.from_logits(ROWS[value], np.float32)
        cand.p += np.float32(1 / N)  # dist-no-softmax draws by it
        chain.apply(cand)
        return cand
    return None


def same(a: Candidates | None, b: Candidates | None) -> None:
    assert (a is None) == (b is None)
    if a is not None and b is not None:
        np.testing.assert_equal(
            (a.ids, a.logits, a.p, a.sorted, a.selected),
            (b.ids, b.logits, b.p, b.sorted, b.selected),
        )


def run(sampler: str, names: set[str], script: Script) -> None:
    """Each instance does what a new one does that went its way, from the first operation on."""
    instances: list[tuple[Chain, list[tuple[str, int]]]] = [(build(sampler, names), [])]
    for operation, which, value in script:
        chain, way = instances[which % len(instances)]
        if operation == "clone":
            instances.append((chain.clone(), list(way)))
            continue
        left = done(chain, operation, value)
        way.append((operation, value))
        again = build(sampler, names)
        for before in way[:-1]:
            done(again, *before)
        same(left, done(again, *way[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", sorted(STAGES))
@settings(deadline=None, max_examples=25)
@given(data=st.data(), script=OPERATIONS)
def test_a_clone_goes_on_as_its_original_would_and_neither_disturbs_the_other(
    sampler: str, data: st.DataObject, script: Script
) -> None:
    names = {c.name for c in CHANGES if sampler in c.samplers} - OF_CLONES
    chosen = data.draw(st.sets(st.sampled_from(sorted(names)), min_size=1)) if names else OF_CLONES
    if names:
        run(sampler, chosen, script)
    else:  # penalties: but for clones
        run(sampler, chosen - {"dry-no-clone"}, [o for o in script if o[0] != "clone"])


def test_the_scripts_cover_every_sampler_that_changed() -> None:
    assert set(STAGES) == {sampler for change in CHANGES for sampler in change.samplers}


def test_a_forgetful_clone_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from sampler_parity.reference.older.infill_b6673 import InfillB6673
    from sampler_parity.reference.older.xtc_b6133 import XtcB6133

    def without_meaning(self: InfillB6673) -> InfillB6673:
        return InfillB6673(frozenset(), self.vocab)

    def anew(self: XtcB6133) -> XtcB6133:
        return XtcB6133(self.old, self.p, self.t, self.seed, self.min_keep)

    monkeypatch.setattr(InfillB6673, "clone", without_meaning)
    with pytest.raises(AssertionError):
        run("infill", {"infill-no-eos"}, [("clone", 0, 0), ("apply", 1, 2)])
    monkeypatch.setattr(XtcB6133, "clone", anew)
    script = [("apply", 0, 1), ("apply", 0, 1), ("clone", 0, 0)] + [("apply", 1, 1)] * 8
    with pytest.raises(AssertionError):
        run("xtc", {"std-sort"}, script)


@pytest.mark.parametrize("sampler", sorted(STAGES))
def test_a_sampler_of_an_older_release_survives_a_pickle(sampler: str) -> None:
    names = {c.name for c in CHANGES if sampler in c.samplers}
    make = pickle.loads(pickle.dumps(samplers_of(names)[sampler]))
    chain = build_chain(
        [{sampler: STAGES[sampler]}], samplers={sampler: make}, n_vocab=N, vocab=SPM
    )
    same(done(chain, "apply", 1), done(build(sampler, names), "apply", 1))
