"""Texts that people write: suites, policies, prompts, grammars, leaves, names and options."""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from sampler_parity.harness.backends.registry import command_of, references
from sampler_parity.harness.cli.fuzz import seconds_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.explanations import (
    explanation_files,
    read_explanations,
)
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.gate.statement import difference
from sampler_parity.harness.inputs.fixtures import read_manifest
from sampler_parity.harness.llama_cpp import build_files, recorded
from sampler_parity.harness.run import campaign
from sampler_parity.harness.suite.file import (
    expand,
    expand_kind,
    read_suite,
)
from sampler_parity.harness.suite.ids import shipped as shipped_suites
from sampler_parity.harness.trie.workloads import read_descriptor
from sampler_parity.maintenance.golden.capture import read_prompts
from sampler_parity.reference import ChainError
from sampler_parity.reference.grammar import parse
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import BINARY, JSON, TEXT
from tests.support.tries import SEED, payload

_ABOUT = 'description = "d"\nwhy = "w"\n'
_FAMILY = 'families = ["normal"]\nsizes = [4, 9]\n'
_SUITES = [
    f'name = "x"\n[[case]]\nid = "a"\n{_ABOUT}'
    "chain = [{top_k = {k = 2}}, {dist = {seed = 1}}]\n"
    'logits = {values = [1.0, 2.0, -inf]}\nhistory = [1, 2]\nsteps = 3\ntags = ["noop"]\n'
    f'[[case]]\nid = "b"\n{_ABOUT}'
    'chain = [{dry = {dry_multiplier = 0.8, seq_breakers = ["\\n"]}}]\n'
    'vocab = "bpe"\nlogits = {family = "normal", n = 9, seed = 3}\naccept = [1, 2]\n',
    f'name = "x"\nsampler = "min_p"\n[[matrix]]\nid = "m"\n{_ABOUT}{_FAMILY}seeds = [0, 1]\n'
    'chain = [{min_p = {p = "$p"}}]\nvary = {p = [0.05, 0.5]}\n'
    "history = {length = 9, alphabet = 4}\n",
    f'name = "x"\n[[random_chains]]\nid = "r"\n{_ABOUT}{_FAMILY}seed = 0\ncount = 3\nquick = 2\n',
    f'name = "x"\n[[random_batches]]\nid = "r"\n{_ABOUT}{_FAMILY}count = 2\nsteps = 3\n'
    f'[[random_rounds]]\nid = "o"\n{_ABOUT}{_FAMILY}count = 2\n',
    f'name = "x"\n[[grammar]]\nid = "g"\n{_ABOUT}grammar = "root ::= [a-c]* x\\nx ::= \\"b\\"?"\n'
    'accepted = ["a", "abc"]\nrejected = ["d"]\n',
    f'name = "x"\n[[random_tries]]\nid = "t"\n{_ABOUT}{_FAMILY}seed = 0\ncount = 2\n',
    f'name = "x"\n[[frequency]]\nid = "q"\n{_ABOUT}chain = [{{dist = {{seed = 1}}}}]\n'
    "logits = {values = [1.0, 2.0]}\nmargin = 0.1\nbins = 4\nmax_draws = 100\n",
    'name = "x"\n[[chain]]\nid = "c"\nsampler = "greedy"\nchain = [{greedy = {}}]\n'
    'logits = {values = [1.0]}\nhistory = [1]\n[[grid]]\nid = "g"\nsampler = "top_k"\n'
    'chain = [{top_k = {k = 4}}]\nsizes = [9]\nlast_n = [2]\n',
    f'name = "x"\n[[skip_ratio]]\nid = "s"\n{_ABOUT}leaves = ["actions", "enum:9"]\nrounds = 2\n',
]  # fmt: skip
_SHIPPED = ["parity/draws", "parity/unseeded", "parity/infill", "throughput/throughput"]
_SHIPPED += ["distribution/coupled", "distribution/independence", "draws/akunu", "devices/logits"]
POLICY = """schema_version = 1
suites = ["parity/*"]
[[parity]]
backend = "mine"
verdicts = ["identical", "reordered"]
[[speed]]
backend = "mine"
baseline = "llama.cpp"
max_ratio = 1.05
[[allow]]
case = "top_p/ties*"
backend = "mine"
outcomes = ["reordered"]
reason = "sorts equal values otherwise"
issue = "7"
expires = 2027-01-31
"""
SUBJECT = f"""schema_version = 1
suites = ["parity/*"]
[subject]
name = "mine 1.0"
backends = ["mine*"]
sha256 = ["{"a" * 64}", "{"b" * 64}"]
reference = "v0.5.0"
platform = "x86_64"
code = "own"
sandbox = true
max_age_days = 30
[[parity]]
backend = "mine"
verdicts = ["identical"]
"""
_STATEMENT = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": "mine 1.0", "digest": {"sha256": "a" * 64}}],
    "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
    "predicate": {
        "result": "PASSED",
        "configuration": [{"name": "bundle", "digest": {"sha256": "c" * 64}}],
        "passedTests": ["replay of 3 cases", "parity 1"],
        "failedTests": [],
    },
}
_GRAMMARS = [
    'root ::= "a" | [b-d]{2,4} (x "\\x41" | .)*\nx ::= [^"\\]]+ | <[3]> | "" # end\n',
    'root ::= "{" ws pair ("," ws pair)* "}"\npair ::= "\\"" [a-z]+ "\\":" ws num\n'
    'num ::= "-"? [0-9]+ ("." [0-9]+)?\nws ::= [ \\t\\n]{0,3}\n',
    "root ::= (((a?)*)+){0,3}\na ::= root2 | \"x\"\nroot2 ::= !<think> [\\u0041-\\U0001F600]\n",
]  # fmt: skip


_MANIFEST = "# Written by a command\n" + "\n".join(
    f'[fixture."{name}"]\nfile = "a.gguf"\nsha256 = "{"0" * 64}"\ncommand = "c"\nmodel = "m"\n'
    f'model_sha256 = "{"1" * 64}"\nllama_cpp = "v0.5.0"\nsystem_info = "s"\ncpu = "c"\nlibc = "l"\n'
    f'gguf = "1"\ndate = 2026-01-01\n{rest}\n'
    for name, rest in {
        "small": f'kind = "logits"\nrows = 2\nn_vocab = 4\ndtype = "float32"\nprompts = "p"\n'
        f'prompts_sha256 = "{"2" * 64}"\nthreads = 1',
        "results": f'kind = "native-results"\nlogits = "small"\nlogits_sha256 = "{"3" * 64}"\n'
        "chains = 2\nsteps = 3",
    }.items()
)
_PROMPTS = '{"id": "a", "text": "hello"}\n\n{"id": "b", "text": "\\u00e9 world"}\n'
_CHUNKS = (
    '{"seed":0,"backends":["llama.cpp"],"version":"0.1.0"}\n'
    '{"chunk":0,"cases":9,"steps":20,"refused":1,"seconds":0.5,"findings":[]}\n'
    '{"chunk":1,"cases":9,"steps":20,"refused":0,"seconds":0.5,"findings":[{"backend":"llama.cpp",'
    '"verdict":"diverged","stage":"top_k","case":{"chain":[{"top_k":{"k":1}}],"logits":{"values":[0.5]}}}]}\n'
)
_BUILD = (
    '{"name":"x","folder":"/nowhere","release":"b4753","package":null,"sha256":"0","added":"2026"}'
)
_NAMES = [
    "llama.cpp@b4753:haswell",
    "reference@v0.5.0",
    "mine=node 'a b.js' -x",
    "slow/5.5",
    "tsampler",
]
_NAMES += ["mutant/top_k/x", "a=llama.cpp", "akunu/cpu", "30.5s", "8h"]
_ELF = b"\x7fELF\x02\x01\x01" + bytes(11) + (62).to_bytes(2, "little") + bytes(100)


def _of(*samples: str) -> Callable[[Path], list[bytes]]:
    return lambda _folder: [sample.encode() for sample in samples]


def _suites(_folder: Path) -> list[bytes]:
    shipped = [shipped_suites()[name].read_bytes() for name in _SHIPPED]
    return [suite.encode() for suite in _SUITES] * 3 + shipped


def _expand(path: Path) -> None:
    """Expand a suite as `run --plan` does."""
    suite = read_suite(path)
    expand(suite, "quick")
    expand_kind("distribution", suite, "full")
    expand_kind("timing", suite, "full")
    expand_kind("throughput", suite, "full")
    expand_kind("skip_ratio", suite, "full")


def _grammar(path: Path) -> None:
    parse(path.read_bytes())


def _leaves(path: Path) -> None:
    read_descriptor(str(path), "m", lambda text: list(text.encode()))


def _campaign(path: Path) -> None:
    campaign.write_findings(campaign.read(path.parent), path.parent / "findings.toml")


def _build(path: Path) -> None:
    home = path.parent / "sampler-parity" / "builds" / "x"
    home.mkdir(parents=True, exist_ok=True)
    (home / "build.json").write_bytes(path.read_bytes())
    with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(path.parent)}):
        recorded.find("x")


def _statement(path: Path) -> None:
    """Read a statement as `gate --verify` does."""
    difference(path, json.dumps(_STATEMENT))


def _name(path: Path) -> None:
    """Read the text as a backend's name and as a time."""
    name = os.fsdecode(path.read_bytes())
    with contextlib.suppress(InputError):
        command_of(name)
    with contextlib.suppress(InputError):
        references([name], "own")
    with contextlib.suppress(InputError):
        references(["reference"], name)
    with contextlib.suppress(InputError):
        seconds_of(name)


INPUTS = [
    Fuzzed("suite", "s.toml", _suites, _expand, TEXT, 60),
    Fuzzed("policy", "gate.toml", _of(POLICY, SUBJECT), read_policy, TEXT),
    Fuzzed("statement", "s.json", _of(json.dumps(_STATEMENT)), _statement, JSON),
    Fuzzed(
        "explanations",
        "e.toml",
        lambda _: [path.read_bytes() for path in explanation_files()],
        read_explanations,
        TEXT,
        30,
    ),
    Fuzzed("manifest", "manifest.toml", _of(_MANIFEST), lambda p: read_manifest(p.parent), TEXT),
    Fuzzed("prompts", "p.jsonl", _of(_PROMPTS), read_prompts, JSON),
    Fuzzed("prompts, plain", "p.txt", _of("hello\nworld\n\n x\n"), read_prompts, TEXT),
    Fuzzed("grammar", "g.gbnf", _of(*_GRAMMARS), _grammar, TEXT, refusals=(ChainError,)),
    Fuzzed("leaves", "l.json", _of(SEED, payload([1, 2], [1, 3], [4])), _leaves, JSON),
    Fuzzed("campaign", "chunks.jsonl", _of(_CHUNKS), _campaign, JSON),
    Fuzzed("build", "build.json", _of(_BUILD), _build, JSON),
    Fuzzed("name", "name", _of(*_NAMES), _name, TEXT),
    Fuzzed(
        "library",
        "libllama.so",
        lambda _: [_ELF],
        lambda path: build_files.check(path.parent),
        BINARY,
    ),
]
