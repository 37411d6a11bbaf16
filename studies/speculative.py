"""`python -m studies.speculative`: llama.cpp's two ways along a draft, by their exact distribution.

The rounds of suites/speculative go to common_sampler, natively: prefix matching in v0.5.0 and
b11549, rejection in b11549, the only one with it. If the reference follows the same random numbers,
the first rounds of each cell are compared token by token, too. Prints a line a cell; exit status 1
if one is not equivalent, or a token differs. It takes g++ and

    sampler-parity builds add xllamacpp@2026.10.11549

`python -m studies.speculative lossy` prints the distance of the rules that are not lossless. As an
adapter: `run speculative -b "b11549=python -m studies.speculative b11549"`.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.verifiers import VerifierAlone
from sampler_parity.harness.checks.distribution.block import Speculative
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply, SpeculativeRequest
from sampler_parity.harness.protocol.serve import run_worker
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite.file import expand_kind, find_suites, read_suite
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output, SamplingParams
from sampler_parity.reference.speculative.rules import thresholds, tv_of, typical_acceptance
from tests.support.native_common import (
    Driver,
    compile_driver,
    compile_driver_of_build,
    kept_programs,
)

RULES = {"v0.5.0": ["matching"], "b11549": ["matching", "rejection"]}
FOLLOWED = 200  # rounds of a request that the reference follows token by token, at most
OFF = SamplingParams(top_k=0, top_p=1.0, min_p=0.0, temp=1.0, penalty_last_n=0, samplers=())
# A stage of a chain: what common_sampler calls it, and its parameters there.
STAGES = {
    "top_k": ("top_k", {"k": "top_k"}),
    "top_p": ("top_p", {"p": "top_p", "min_keep": "min_keep"}),
    "min_p": ("min_p", {"p": "min_p", "min_keep": "min_keep"}),
    "temp_ext": ("temperature", {"temp": "temp"}),
    "penalties": (
        "penalties",
        {
            "penalty_last_n": "penalty_last_n",
            "penalty_repeat": "penalty_repeat",
            "penalty_freq": "penalty_freq",
            "penalty_present": "penalty_present",
        },
    ),
}


class Worker(VerifierAlone):
    """One build's common_sampler, which is asked for nothing but rounds. different: those that came
    out otherwise than the reference's."""

    def __init__(self, release: str) -> None:
        if release == "v0.5.0":
            program = compile_driver(kept_programs())
        else:
            build = recorded.find(release)
            if build is None:
                problem = "is not registered"
                fix = "`sampler-parity builds add xllamacpp@2026.10.11549`"
                raise InputError(release, problem, fix)
            library = Path(build.folder)
            program = compile_driver_of_build(kept_programs(library / "libllama.so"), library)
        self.release, self.driver = release, Driver(program)
        self.driver.start(vocab_path("bpe"))
        self.followed = self.different = 0

    def hello(self) -> HelloReply:
        return HelloReply(
            name="common_sampler",
            version=self.release,
            capabilities=["speculative"],
            samplers=[*STAGES, "logit_bias", "dist"],
        )

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        if request.rule not in RULES[self.release]:
            raise Unsupported(f"{self.release} has no {request.rule}")
        params = params_of(request.chain)
        ids = np.arange(request.n_vocab, dtype=np.int32)
        outputs = [Output(row, ids) for row in rounds.logits]
        draft_q = [
            [(int(i), float(row[i])) for i in np.flatnonzero(row)] for row in rounds.draft_rows
        ]
        seeds, drafts = rounds.seeds.tolist(), rounds.drafts.tolist()
        emitted = self.driver.rounds(
            request.rule == "rejection", params, outputs, seeds, drafts, draft_q, request.history
        )
        for i in range(min(FOLLOWED, request.n, max(5, 2_000_000 // request.n_vocab))):
            own = SamplingParams(**vars(params) | {"seed": seeds[i]})
            reference = CommonSampler(own, request.n_vocab)
            for token in request.history:
                reference.accept(token, False)
            tokens = (
                reference.sample_and_accept_n_rejection(outputs, drafts[i], draft_q)
                if request.rule == "rejection"
                else reference.sample_and_accept_n(outputs, drafts[i])
            )
            self.followed += 1
            self.different += tokens != emitted[i]
        width = request.drafted + 1
        return np.array([[*row, *[-1] * (width - len(row))] for row in emitted], np.int32)


def params_of(chain: ChainSpec) -> SamplingParams:
    """Return the parameters that make common_sampler build this chain. Raises Unsupported."""
    changed = dict(vars(OFF))
    for stage in chain[:-1]:
        for name, settings in stage.items():
            if name == "logit_bias":
                changed["logit_bias"] = tuple((t, b) for t, b in settings["logit_bias"])
                continue
            if name not in STAGES:
                raise Unsupported(f"{name} in common_sampler's chain")
            called, fields = STAGES[name]
            changed["samplers"] = (*changed["samplers"], called)
            unknown = settings.keys() - fields.keys() - {"n_vocab", "delta", "exponent"}
            if unknown:
                raise Unsupported(f"{name}: {', '.join(sorted(unknown))}")
            changed |= {fields[key]: value for key, value in settings.items() if key in fields}
    return SamplingParams(**changed)


def print_lossy() -> None:
    """Print how far the rules that are not lossless are from the target.

    32 tokens; the draft's logits are those of the target and noise; mean and largest of 50 rows.
    """
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(50):
        logits = rng.normal(0, 2, 32)
        pairs.append((_softmax(logits), _softmax(logits + rng.normal(0, 0.7, 32))))
    rules = {
        "typical acceptance, 0.09 and 0.3": typical_acceptance(),
        **{f"threshold_single {t}": thresholds(single=t) for t in (0.9, 0.5, 0.3)},
        **{f"threshold_acc {t}": thresholds(accumulated=t) for t in (0.9, 0.5, 0.3)},
    }
    for name, rule in rules.items():
        drawn = [float(tv_of(rule, p, q)) for p, q in pairs]
        likeliest = [float(tv_of(rule, p, (q == q.max()) * 1.0)) for p, q in pairs]
        print(
            f"{name:<34} drawn {np.mean(drawn):.3f}, {max(drawn):.3f}   "
            f"likeliest {np.mean(likeliest):.3f}, {max(likeliest):.3f}"
        )


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.exp(logits - logits.max())
    weights /= weights.sum()
    return weights


def main(profile: str) -> int:
    cells = [
        cell
        for path in find_suites(["speculative"])
        for cell in expand_kind(
            "distribution", read_suite(path), "full" if profile == "full" else "quick"
        )
        if isinstance(cell, Speculative) and "grammar" not in cell.samplers
    ]
    asked = [(release, cell) for release in RULES for cell in cells if cell.rule in RULES[release]]
    errors, failed, skipped = Budget(tests=len(asked)).each, 0, 0
    workers = {release: Worker(release) for release in RULES}
    for release, cell in asked:
        worker = workers[release]
        worker.followed = worker.different = 0
        backend = InPlace(release, worker)
        try:
            got = execute_cell(cell, [backend], errors).backends[release]
        finally:
            backend.scratch.remove()
        skipped += got.decision == "skipped"
        failed += got.decision not in ("equivalent", "skipped") or worker.different > 0
        tv = "" if got.high is None else f"TV {got.estimate:.4f} < {got.high:.4f}"
        print(
            f"{got.decision:<11} {release:<7} {cell.id:<38} {got.draws:>8,} rounds  {tv}  "
            f"{worker.different}/{worker.followed} not the reference's tokens  {got.detail}",
            flush=True,
        )
    for worker in workers.values():
        worker.driver.close()
    ran = len(asked) - skipped
    print(f"{ran - failed}/{ran} equivalent, token by token as the reference; {skipped} skipped")
    return int(failed > 0)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in RULES:
        run_worker(lambda: Worker(sys.argv[1]))
    elif sys.argv[1:2] == ["lossy"]:
        print_lossy()
    else:
        sys.exit(main(*sys.argv[1:2] or ["quick"]))
