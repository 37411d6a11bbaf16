"""Faults as text: every patch fits the reference, and one that does not is reported in one line."""

import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults import patch as patches
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.maintenance.selftest import parts, results, selftest
from sampler_parity.reference import Candidates
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.speculative.chance import Drawn
from sampler_parity.reference.speculative.one_draft import accepts

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
            [("mass >= self.p", "mass > self.p"), ("self.min_keep", "0")],
            "",
            "edit 2: occurs 3 times in reference/samplers/top_p.py, must occur once:"
            " 'self.min_keep' - copy more lines around it",
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


def test_a_patch_of_no_sampler_is_reported_with_its_place() -> None:
    with pytest.raises(InputError, match=r"no sampler 'top_q' - correct `name`$"):
        patch(("a", "b"), name="top_q/off").faulty()


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ("reference/chain.py:Chains", r"reference/chain.py has no 'Chains' - correct `of`$"),
        ("reference/chains.py:Chain", r"there is no reference/chains.py - correct"),
    ],
    ids=["name", "file"],
)
def test_a_patch_of_nothing_is_reported_with_its_place(of: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        patch(("a", "b"), of=of).faulty()


def test_a_part_that_no_check_is_for_is_reported_with_its_place() -> None:
    of = "reference/trie.py:Entry"
    with pytest.raises(InputError, match=f"there is no check for '{of}' - correct `of`: "):
        parts._part(Mutant("token_trie/planted", patch(("a", "b"), of=of)))


def test_a_function_is_patched_too() -> None:
    of = "reference/speculative/one_draft.py:accepts"
    always = patch(("return q[token] > 0 and", "return True or"), of=of).faulty()
    assert always(Drawn(np.random.default_rng(0)), np.zeros(1), np.ones(1), 0)
    assert not accepts(Drawn(np.random.default_rng(0)), np.zeros(1), np.ones(1), 0)


DERIVED = """
from package import base
from package.base import Base

class OfMember(base.Base):
    def counts(self):
        return ["member", *super().counts()]

class Sampler(Base):
    def counts(self):
        return ["derived", *super().counts()]
"""


@pytest.fixture
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a sampler with a base, and the module of the base, where patches find them."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "derived.py").write_text(DERIVED)
    base = 'class Base:\n    def counts(self):\n        return ["base"]\n'
    (tmp_path / "package" / "base.py").write_text(base)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(patches, "ROOT", tmp_path)
    monkeypatch.setattr(Patch, "_imported", lambda _, file: import_module(file.replace("/", ".")))
    yield
    for name in ("package", "package.base", "package.derived"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("_package")
@pytest.mark.parametrize(
    ("file", "edit", "counts"),
    [
        ("", ('"derived"', '"faulty"'), ["faulty", "base"]),
        ("package/base", ('"base"', '"faulty"'), ["derived", "faulty"]),
    ],
    ids=["its own text", "the text of its base"],
)
def test_a_class_with_a_base_is_patched_and_calls_its_base_once(
    file: str, edit: tuple[str, str], counts: list[str]
) -> None:
    one = patch(edit, file=file, of="package/derived:Sampler")
    assert one.faulty()().counts() == counts
    assert one.right()().counts() == ["derived", "base"]


@pytest.mark.usefixtures("_package")
def test_a_patched_module_is_met_by_an_import_from_its_package_too() -> None:
    edit = ('"base"', '"faulty"')
    one = patch(edit, name="top_p/member", file="package/base", of="package/derived:OfMember")
    assert one.faulty()().counts() == ["member", "faulty"]
    assert one.right()().counts() == ["member", "base"]
    assert sys.modules["package.base"] is sys.modules["package"].base


def test_a_change_in_what_numba_compiles_is_refused() -> None:
    twice = patch(
        ("total += weight", "total += 2 * weight"), name="dist/x", file="reference/random.py"
    )
    with pytest.raises(InputError, match="_cumulative is compiled by Numba - edit what calls it"):
        twice.faulty()


@pytest.mark.parametrize(
    "edit",
    [
        ("mass = floats.running_sum(p)", "mass = floats.running_sum(p)  # of all"),
        ("mass >= self.p", "self.p <= mass"),
    ],
    ids=["a comment", "the same in other words"],
)
def test_a_patch_that_changes_nothing_survives_the_self_test(
    edit: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = Mutant("top_p/planted", patch(edit), text="Nothing is wrong.")
    monkeypatch.setitem(MUTANTS, planted.name, planted)
    cases = selftest._cases_of
    monkeypatch.setattr(
        selftest, "_cases_of", lambda path: cases(path)[:9] if path.stem == "top_p" else []
    )
    backend = InProcess(planted.name)
    result = selftest.try_mutant(planted, backend)
    backend.close()
    assert (result.caught, result.tried) == (False, 9)
    assert results.line_of(result).startswith("SURVIVED top_p/planted")


def test_a_patch_of_another_module_is_met_by_the_sampler_alone() -> None:
    swapped = MUTANTS["dist/words-swapped"].make(1)
    assert swapped.rng.uniform_double() != Dist(1).rng.uniform_double()
    assert isinstance(swapped, Dist)
    assert not isinstance(swapped.rng, Mt19937)
    in_nats, right = MUTANTS["mirostat_v2/surprise-in-nats"].make(1), MirostatV2(1)
    for sampler in (in_nats, right):
        sampler.apply(Candidates.from_logits([2.0, 1.0, 0.0]))
    assert in_nats.mu != right.mu


def test_a_traceback_shows_the_line_of_the_fault() -> None:
    crashes = MUTANTS["penalties/no-window-crashes"].make(0, 1.5)
    with pytest.raises(IndexError) as caught:
        crashes.accept(1)
    shown = "".join(traceback.format_exception(caught.value))
    assert '"<penalties/no-window-crashes: reference/samplers/penalties.py>", line ' in shown
    assert 'raise IndexError("ring buffer of no capacity")' in shown
