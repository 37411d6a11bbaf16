"""Faults planted in the C++ of the trie: the suite's cases that name them detect them."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.llama_cpp import compiled
from sampler_parity.harness.llama_cpp.compiled_trie import Worker
from sampler_parity.harness.suite.file import expand, find_suites, read_suite
from tests.support.inside import Inside

pytestmark = pytest.mark.nightly  # each is compiled: seconds

# what is wrong: the case that sees it, and what is replaced by what in token_trie.cpp
FAULTS = {
    "stays sorted": ("masked-candidates-are-not-sorted", "    c->sorted = false;\n", ""),
    "masks an id": (
        "masks-each-of-many",
        "(word & kept[i])",
        "(word & kept[0])",
    ),
    "leaves the last": (
        "masks-each-of-many",
        "for (; at < end; at++) at->logit",
        "if (at == nullptr) at->logit",
    ),
    "masks outside": (
        "a-token-outside-ends-the-span",
        "        active = false;\n        child = std",
        "        child = std",
    ),
    "compacts to nothing": (
        "no-child-left",
        "compact && std::any_of(children.begin(), children.end(), possible)",
        "compact",
    ),
    "reset masks on": ("reset-ends-the-span", "go_to(first, false)", "go_to(first, true)"),
    "not reset": ("reset-ends-the-span", "trie_of(s).reset();", ""),
    "no path": ("second-path", "trie_of(payload, params.path);", "&payload.tries.front();"),
    "stops at the boundary": ("across-the-end-of-a-leaf", "trie != last", "false"),
    "always across": (
        "not-across-by-itself",
        "params.across ? &payload.tries.back() : made->first",
        "&payload.tries.back()",
    ),
    "selects where it stood": (
        "compact-selects-where-it-moved",
        "    std::iota(children.begin(), children.end(), size_t(0));\n",
        "",
    ),
    "last of equals": (
        "first-of-equal-children",
        "logit > c->data[c->selected]",
        "logit >= c->data[c->selected]",
    ),
    "ids are positions": (
        "masked-candidates-are-not-sorted",
        "return c->data[id].id == id;",
        "return id >= 0 && c->size > 0;",
    ),
    "clone begins": (
        "clone-goes-its-own-way",
        "std::make_unique<Position>(trie_of(s)));",
        "[&] { auto p = std::make_unique<Position>(trie_of(s)); p->go_to(p->first, true);"
        " return p; }());",
    ),
    "accept ignored": ("walks-to-the-children-of-its-node", "    node = child;\n", ""),
}


def changed(source: Path, old: str, new: str) -> Worker:
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    return Worker(source)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy, which is compiled into a folder of its own."""
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    return Path(shutil.copytree(compiled.SOURCES, tmp_path / "native")) / "token_trie.cpp"


def cases() -> dict[str, Case]:
    (path,) = find_suites(["trie/token_trie"])
    return {case.id: case for case in expand(read_suite(path), "quick")}


@pytest.mark.parametrize("fault", [*FAULTS])
def test_a_fault_in_the_cpp_is_seen_by_the_case_that_names_it(source: Path, fault: str) -> None:
    case_id, old, new = FAULTS[fault]
    with closing(Inside(changed(source, old, new), name="token_trie/compiled")) as backend:
        result = execute(cases()[f"token_trie/{case_id}"], [backend])
    assert result.backends[backend.name].verdict == "diverged"


def test_a_processor_without_avx2_masks_the_same(source: Path) -> None:
    """A fault in the code for such a processor is detected, too."""
    without = changed(source, '__builtin_cpu_supports("avx2")', "false")
    with closing(Inside(without, name="token_trie/compiled")) as backend:
        verdicts = {
            case.id: execute(case, [backend]).backends[backend.name].verdict
            for case in cases().values()
        }
    assert {*verdicts.values()} == {"identical"}
    no_last = FAULTS["leaves the last"]
    with closing(Inside(changed(source, *no_last[1:]), name="token_trie/compiled")) as backend:
        result = execute(cases()[f"token_trie/{no_last[0]}"], [backend])
    assert result.backends[backend.name].verdict == "diverged"
