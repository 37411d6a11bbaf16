"""Faults planted in the C++ of the trie: the suite's cases that name them see them."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from sampler_parity.harness.backends.llama_cpp import compiled
from sampler_parity.harness.backends.llama_cpp.compiled_trie import Worker
from sampler_parity.harness.parity.execute import execute
from sampler_parity.harness.suite.file import expand, find_suites, read_suite
from tests.support.inside import Inside

pytestmark = pytest.mark.nightly  # each is compiled: seconds

# what is wrong: the case that sees it, and what is replaced by what in token_trie.cpp
FAULTS = {
    "stays sorted": ("masked-candidates-are-not-sorted", "    c->sorted = false;\n", ""),
    "masks an id": (
        "masks-each-of-many",
        "{0, KEEP, KEEP, 0}",
        "{0, KEEP, 0, 0}",
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
        "new Position(trie_of(s)));",
        "new Position([&] { auto p = trie_of(s); p.go_to(p.first, true); return p; }()));",
    ),
    "accept ignored": ("walks-to-the-children-of-its-node", "    node = child;\n", ""),
}


@pytest.mark.parametrize("fault", [*FAULTS])
def test_a_fault_in_the_cpp_is_seen_by_the_case_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    case_id, old, new = FAULTS[fault]
    sources = Path(shutil.copytree(compiled.SOURCES, tmp_path / "native"))
    source = sources / "token_trie.cpp"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    (path,) = find_suites(["trie/token_trie"])
    (case,) = [
        case for case in expand(read_suite(path), "quick") if case.id == f"token_trie/{case_id}"
    ]
    with closing(Inside(Worker(source), name="token_trie/compiled")) as backend:
        assert execute(case, [backend]).backends[backend.name].verdict == "diverged"
