"""The cost of a grammar's mask, step by step along a text, in every engine that runs here.

    python -m studies.grammar_masks [--rounds N] [--seed N] [--vocab V]... [-b BACKEND]...

A step is the mask of all tokens and its application to the logits, on the clock inside the backend;
accepting the next token is not in it. Setting up is everything before the first mask: reading and
compiling the grammar. The backends take turns, in random order, each time on a newly set up
grammar. An engine is timed only if it leaves the tokens that llama.cpp leaves, or those of a strict
reading of UTF-8: otherwise it would do other work. The least of the rounds counts, because other
programs on the machine can only add.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import machine
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.grammar import spell
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.inputs.random_model import random_128256_path
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.trie.workloads import leaf_texts, text_grammar

_JSON = r"""
root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair ("," ws pair)*)? "}" ws
pair ::= string ":" ws value
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\/bfnrt])* "\"" ws
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ws
ws ::= [ \t\n]*
"""
_TEXT = '{"name": "the", "size": 12.5}'

WORKLOADS = {"30 actions": (text_grammar(leaf_texts("actions")), "SEND"), "JSON": (_JSON, _TEXT)}
BACKENDS = ["llama.cpp", "llguidance", "llguidance/rules", "xgrammar", "xgrammar/rules", "null"]
VOCABS = ["bpe", "spm", "small", "random-128256"]


_HEAD = """\
| V | engine | us a step, least | median | llama.cpp's least / its own | setting up, least ms |
| ---: | --- | ---: | ---: | ---: | ---: |"""


@dataclass
class Costs:
    """Microseconds of a step, the mean along the text, and milliseconds of setting up, by round.

    failed: why there are none.
    """

    step_us: list[float] = field(default_factory=list)
    setup_ms: list[float] = field(default_factory=list)
    failed: str = ""


def case_of(workload: str, vocab: str) -> StagesCase:
    grammar, text = WORKLOADS[workload]
    words = read_vocab(vocab_path(vocab))
    tokens = spell(text, words, "longest")
    return StagesCase(
        id=f"grammar_masks/{workload.replace(' ', '-')}",
        description="A text whose masks are timed",
        why="see studies/grammar_masks.py",
        chain=[{"grammar": {"grammar_str": grammar, "grammar_root": "root"}}],
        logits=GeneratedLogits(family="equal", n=len(words)),
        vocab=vocab,
        accept=tokens,
        steps=len(tokens) + 1,
    )


def measure(
    case: StagesCase, backends: Sequence[Backend], rounds: int, seed: int
) -> dict[str, Costs]:
    ready, order = prepare(case), random.Random(seed)
    judged = execute(case, [backend for backend in backends if backend.name != "null"]).backends
    costs = {b.name: Costs(failed=_unfit(judged.get(b.name))) for b in backends}
    running = [backend for backend in backends if not costs[backend.name].failed]
    for turn in range(rounds + 1):
        for backend in order.sample(running, len(running)):
            step_us, setup_ms = _once(ready, backend)
            if turn > 0:  # the first round warms up
                costs[backend.name].step_us.append(step_us)
                costs[backend.name].setup_ms.append(setup_ms)
    return costs


def _unfit(result: BackendResult | None) -> str:
    """Return why the masks of a backend are not comparable, or ''."""
    if result is None or result.verdict in ("identical", "explained"):
        return ""
    return f"{result.verdict}: {result.detail or f'step {result.step}'}"


def _once(ready: Prepared, backend: Backend) -> tuple[float, float]:
    """Walk along the text; return microseconds a step, and milliseconds without steps."""
    start = time.perf_counter_ns()
    client.run(backend, ready.setting, ready.rows[:1], [], detail="token")
    setup_ns = time.perf_counter_ns() - start
    steps = [step.model_copy(update={"row": 0}) for step in ready.steps]
    ran = client.run(backend, ready.setting, ready.rows[:1], steps, detail="token")
    return ran.ns / len(steps) / 1e3, setup_ns / 1e6


def rows(case: StagesCase, costs_by_backend: dict[str, Costs]) -> list[str]:
    """Return the lines of the table for a workload on a vocabulary."""
    lines = []
    native = costs_by_backend["llama.cpp"].step_us if "llama.cpp" in costs_by_backend else []
    for name, costs in costs_by_backend.items():
        if costs.failed:
            lines.append(f"| {case.logits.n:,} | {name} | not timed: {costs.failed[:90]} | | | |")
            continue
        least, setup = min(costs.step_us), min(costs.setup_ms)
        shown = f"{least:,.1f} | {statistics.median(costs.step_us):,.1f}"
        ratio = f"{min(native) / least:,.3g}" if native else ""
        lines.append(f"| {case.logits.n:,} | {name} | {shown} | {ratio} | {setup:,.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.grammar_masks")
    parser.add_argument("-b", "--backend", action="append")
    parser.add_argument("--vocab", action="append")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    try:
        report(options.backend or BACKENDS, options.vocab or VOCABS, options.rounds, options.seed)
    except (InputError, BackendFailure) as error:
        sys.exit(str(error))


def report(names: list[str], vocabs: list[str], rounds: int, seed: int) -> None:
    """Print the tables.

    Raises InputError, and BackendFailure for one that died while it was timed.
    """
    backends = [registry.start(name, timeout_s=300) for name in names]
    for backend in list(backends):
        try:
            print(f"{backend.name}: {backend.hello().version}")
        except BackendFailure as failure:
            print(f"{backend.name}: unavailable: {failure}")
            backends.remove(backend)
    ours = machine.describe()
    print(f"{ours.cpu}, {ours.cores} cores; {rounds} rounds, seed {seed}")
    try:
        for workload in WORKLOADS:
            print(f"\n{workload}\n\n{_HEAD}")
            for vocab in vocabs:
                case = case_of(workload, path_of(vocab))
                costs = measure(case, backends, rounds, seed)
                print("\n".join(rows(case, costs)), flush=True)
    finally:
        for backend in backends:
            backend.close()


def path_of(vocab: str) -> str:
    return str(random_128256_path()) if vocab == "random-128256" else vocab


if __name__ == "__main__":
    main()
