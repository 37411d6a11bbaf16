"""Make a bundle of many cases from a real one: its records again and again, under new ids.

    python -m tests.support.large_bundle SOURCE FOLDER [CASES] [FAILING]

One record in FAILING is changed to a divergence (0: none), each with values of its own. Footer and
digests are those of the new records. The suites of run.json do not expand to the new ids, so
`gate` needs --no-recompute.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from sampler_parity.harness.bundle import writer

CASES, FAILING = 1_000_000, 1_000


def large_bundle(source: Path, folder: Path, cases: int = CASES, failing: int = FAILING) -> None:
    """Write a bundle of so many cases. source: a finished bundle that holds cases only."""
    header, *lines, footer = (source / "results.jsonl").read_text("utf-8").splitlines()
    end = json.loads(footer)
    if set(end["records"]) != {"case"}:
        raise SystemExit(f"{source}: holds other records than cases: {end['records']}")
    folder.mkdir(parents=True)
    (folder / "artifacts").mkdir()
    info = (source / "run.json").read_bytes()
    (folder / "run.json").write_bytes(info)
    run_sha256, sha256 = hashlib.sha256(info).hexdigest(), hashlib.sha256()
    steps = 0
    with (
        (folder / "results.jsonl").open("wb") as results,
        (folder / writer.NAME).open("wb") as sums,
    ):
        sums.write(writer.of_run(run_sha256))
        for text, more in _records(header, lines, cases, failing):
            line = f"{text}\n".encode()
            results.write(line)
            sums.write(writer.of_lines(sha256, [line]))
            steps += more
        end |= {"cases": cases, "steps": steps, "records": {"case": cases}}
        end |= {"sha256": sha256.hexdigest(), "run_sha256": run_sha256}
        line = (json.dumps(end, separators=(",", ":")) + "\n").encode()
        results.write(line)
        sums.write(writer.of_lines(sha256, [line]))


def _records(header: str, lines: list[str], cases: int, failing: int) -> Iterator[tuple[str, int]]:
    """Yield the header and each record, with its steps."""
    yield header, 0
    known = [json.loads(line) for line in lines]
    for number in range(cases):
        at, again = number % len(lines), number // len(lines)
        case, line = known[at], lines[at]
        if failing and number % failing == failing - 1:
            line = json.dumps(_diverged(case, number), separators=(",", ":"), ensure_ascii=False)
        if again:
            id = json.dumps(case["id"], ensure_ascii=False)
            line = line.replace(f'"id":{id}', f'"id":{id[:-1]}~{again}"', 1)
        yield line, case["steps"]


def _diverged(case: dict[str, object], number: int) -> dict[str, object]:
    backends, samplers = case["backends"], case["samplers"]
    assert isinstance(backends, dict)
    assert isinstance(samplers, list)
    values = {"rank": number % 7, "got": number / 3, "expected": number / 5}
    wrong = {"verdict": "diverged", "step": 0, "stage": samplers[0] if samplers else "token"}
    wrong |= {"stage_index": 0, "what": "p", "values": values}
    return case | {"backends": {name: got | wrong for name, got in backends.items()}}


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[3:]]
    large_bundle(Path(sys.argv[1]), Path(sys.argv[2]), *numbers)
