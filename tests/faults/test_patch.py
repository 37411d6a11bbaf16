"""Faults as text: every patch fits the reference, and one that does not is reported in one line."""

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.maintenance.selftest import parts
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.top_p import TopP

PATCHES = {name: mutant.of for name, mutant in MUTANTS.items() if isinstance(mutant.of, Patch)}


def patch(
    *edits: tuple[str, str], name: str = "top_p/planted", file: str = "", of: str = ""
) -> Patch:
    return Patch(f"a.toml: fault 1 ({name})", name, edits, file, of)


@pytest.mark.slow
def test_every_patch_fits_the_reference_and_gives_a_class_of_its_sampler() -> None:
    assert len(PATCHES) > 700
    for name, one in PATCHES.items():
        made = one.faulty()
        assert made is not one.right()
        if not one.of and isinstance(made, type):  # some stages of engines are made by functions
            assert getattr(made, "name", "") == name.split("/")[0], name
        assert one.faulty() is made


def test_the_module_that_is_patched_stays_as_it_is() -> None:
    faulty = patch(("return self.p >= 1", ""), ("mass >= self.p", "mass > self.p"))
    with pytest.raises(InputError):
        faulty.faulty()
    half = Candidates.from_logits([0.0, 0.0])
    right = half.copy()
    patch(("mass >= self.p", "mass > self.p")).faulty()(0.5).apply(half)
    TopP(0.5).apply(right)
    assert (len(half), len(right)) == (2, 1)


@pytest.mark.parametrize(
    ("edits", "file", "message"),
    [
        (
            [("self.q", "0")],
            "",
            "edit 1: occurs 0 times in reference/samplers/top_p.py, must occur once: 'self.q'"
            " - copy the lines as they are now",
        ),
        (
            [("mass >= self.p", "mass > self.p"), ("self.p", "0")],
            "",
            "edit 2: occurs 3 times in reference/samplers/top_p.py, must occur once:"
            " 'self.p' - copy more lines around it",
        ),
        ([("order = cand", "o = cand")], "", "edit 1: occurs 2 times in reference/samplers/top_p"),
        ([("mass >= self.p", "mass >= self.p")], "", "edit 1: replaces nothing: 'mass >= self.p'"),
        (
            [("a", "b")],
            "reference/samplers/top_q.py",
            "there is no reference/samplers/top_q.py - correct `file`",
        ),
    ],
    ids=["not there", "three times", "twice", "nothing changes", "no such file"],
)
def test_a_patch_that_does_not_fit_is_reported_with_its_place(
    edits: list[tuple[str, str]], file: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        patch(*edits, file=file).faulty()
    assert str(caught.value).startswith("a.toml: fault 1 (top_p/planted)")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "of", "message"),
    [
        ("top_q/off", "", r"no sampler 'top_q' - correct `name`$"),
        ("top_p/x", "reference/chain.py:Chains", r"chain.py has no 'Chains' - correct `of`$"),
        ("top_p/x", "reference/chains.py:Chain", r"there is no reference/chains.py - correct"),
    ],
    ids=["sampler", "name", "file"],
)
def test_a_patch_of_nothing_is_reported_with_its_place(name: str, of: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        patch(("a", "b"), name=name, of=of).faulty()


def test_a_part_that_no_check_is_for_is_reported_with_its_place() -> None:
    of = "reference/trie.py:Entry"
    with pytest.raises(InputError, match=f"there is no check for '{of}' - correct `of`: "):
        parts._part(Mutant("token_trie/planted", patch(("a", "b"), of=of)))


def test_a_change_in_what_numba_compiles_is_refused() -> None:
    twice = patch(
        ("total += weight", "total += 2 * weight"), name="dist/x", file="reference/random.py"
    )
    with pytest.raises(InputError, match="_cumulative is compiled by Numba - edit what calls it"):
        twice.faulty()
