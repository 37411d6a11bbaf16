"""`python -m studies.speculative_engines`: verifiers of engines by their exact distribution.

Without further words, every engine of VERIFIERS judges the cells of its suite. Words choose engines
and, by their names, cells or faults. A line for each cell has the decision and the distance of the
rule's first token from the target, which is above 0 if the stated q is not that of the drafts.
`... ENGINE faults` plants the faults of engines/shared/verifier_faults.toml in the engine's text:
the cell that a fault names must catch it. Exit status 1 if a cell has another decision than it
requires, a fault is not caught, or an engine is not installed.
"""

import sys
from collections import defaultdict

from sampler_parity.engines.shared.verifiers import faults
from sampler_parity.harness.backends import environments
from sampler_parity.harness.checks.distribution.block import Speculative
from sampler_parity.harness.checks.distribution.record import CellOnBackend
from sampler_parity.harness.checks.distribution.rounds import Models, prepared
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite.file import expand_kind, find_suites, read_suite

REJECTION, MATCHING = "speculative/verifiers", "speculative/verifiers_by_matching"
# A verifier: its worker, its environment, the suite of its rule, and its worker with faults.
VERIFIERS = {
    "transformers": ("transformers", "", REJECTION, "transformers/verifier_faults"),
    "vllm_gpu": ("vllm_gpu/v1", "vllm_gpu", REJECTION, "vllm_gpu/verifier_faults"),
    "mlx_lm": ("mlx_lm", "mlx_lm", MATCHING, "mlx_lm/verifier_faults"),
    "keras_hub": ("keras_hub/verifier", "keras_hub", REJECTION, "keras_hub/verifier_faults"),
    "litgpt": ("litgpt/verifier", "litgpt", REJECTION, "litgpt/verifier_faults"),
    "lmdeploy": ("lmdeploy/verifier", "lmdeploy", REJECTION, "lmdeploy/verifier_faults"),
    "vllm_gpu_v2": ("vllm_gpu", "vllm_gpu", REJECTION, "vllm_gpu/verifier_faults_v2"),
    "sglang": ("sglang/verifier", "sglang_kernels", REJECTION, "sglang/verifier_faults"),
    "sglang_tree": (
        *("sglang/verifier", "sglang_kernels"),
        *(MATCHING, "sglang/verifier_faults_tree"),
    ),
}


def cells_of(suite: str) -> dict[str, Speculative]:
    """Return the cells of a suite, by the end of their ids."""
    path = find_suites([suite])[0]
    cells = expand_kind("distribution", read_suite(path), "full")
    return {c.id.rpartition("/")[2]: c for c in cells if isinstance(c, Speculative)}


def distance(cell: Speculative) -> float:
    """Return the total variation of the first token of the rule's rounds from the target."""
    models = Models(cell, prepared(cell))
    p = models.target(())
    return float(abs(sum(models.split(0, p)) - p).sum()) / 2


def judged(cell: Speculative, backend: BackendProcess, tests: int) -> CellOnBackend:
    return execute_cell(cell, [backend], Budget(tests=tests).each).backends[backend.name]


def started(folder: str, worker: str) -> BackendProcess:
    """Start a worker of an engine in its environment."""
    environment, command = VERIFIERS[folder][1], [*WORKER_COMMAND, worker]
    if environment:
        command = environments.worker_command(environment, "", [worker])
    return BackendProcess(worker, command, 300.0, start_timeout_s=300.0)


def print_cells(folder: str, only: list[str]) -> int:
    """Judge an engine, print a line for each cell, and return how many are not as required."""
    name, _, suite, _ = VERIFIERS[folder]
    cells, counts, failed = cells_of(suite), defaultdict[str, int](int), 0
    backend = started(folder, name)
    try:
        print(f"{name}: {backend.hello().version}")
        for cell_id, cell in cells.items():
            if only and cell_id not in only:
                continue
            got = judged(cell, backend, len(cells))
            counts[got.decision] += 1
            tv = "" if got.high is None else f"TV {got.estimate:.3f} < {got.high:.3f}"
            rule = f"the rule's own distance {distance(cell):.3f}"
            print(f"  {got.decision:<12} {cell_id:<30} {got.draws:>6,} rounds  {tv}  {rule}")
            asked = cell.required(name)
            as_required = got.decision in (*asked, "skipped")
            failed += not as_required
            if asked != ["equivalent"] or not as_required:
                print(f"    required: {', '.join(asked)}. {got.detail}")
    finally:
        backend.close()
    print(f"  {dict(counts)}", flush=True)
    return failed


def print_faults(folder: str, only: list[str]) -> int:
    """Plant the faults of an engine, print a line for each, and return how many are not caught."""
    cells = cells_of(VERIFIERS[folder][2])
    tried = [(i, row) for i, row in enumerate(faults()) if folder in row]
    tried = [(i, row) for i, row in tried if not only or row["name"] in only]
    backend, missed = started(folder, VERIFIERS[folder][3]), 0
    for i, row in tried:
        cell = cells[row["cell"]]
        chain = [*cell.chain[:-1], {"dist": {"seed": i}}]
        got = judged(cell.model_copy(update={"chain": chain}), backend, len(tried))
        caught = got.decision in ("different", "crashed")
        missed += not caught
        word = "caught  " if caught else "SURVIVED"
        print(
            f"{word} {row['name']:<27} {row['cell']:<20} {got.draws:>6,}  {got.detail}", flush=True
        )
    backend.close()
    print(f"{folder}: {len(tried) - missed} of {len(tried)} faults are caught")
    return missed


def main(words: list[str]) -> int:
    run = print_faults if "faults" in words else print_cells
    only = [word for word in words if word not in VERIFIERS and word != "faults"]
    failed = 0
    for folder in [word for word in words if word in VERIFIERS] or list(VERIFIERS):
        try:
            failed += run(folder, only)
        except BackendFailure as failure:
            print(f"{folder}: unavailable: {failure}", flush=True)
            failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
