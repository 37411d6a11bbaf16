"""A copy of a bundle of a wrong sampler that an attacker changes until the gate passes it."""

import hashlib
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sampler_parity.harness.bundle import writer

TABLE = tomllib.loads(Path(__file__).with_name("ways.toml").read_text(encoding="utf-8"))
Line = dict[str, Any]
Seal = Literal["as it was", "footer", "all"]
"""Which digests the attacker makes again: none, the footer's, or those of `digests`, too."""

BLANK: Line = {"stage": "", "stage_index": None, "step": None, "what": "", "values": {}}
BLANK |= {"detail": "", "ties": False, "row": None}
"""A result without a difference."""

POLICY = """\
schema_version = 1
suites = ["parity/greedy", "parity/logit_bias"]

[subject]
name = "mine 1.2.0"
backends = ["mine"]
{released}reference = "v0.5.0"
code = "own"
max_age_days = 30

[[parity]]

[[not_worse]]
at_least = 0
"""


@dataclass
class Forgery:
    """Change `folder`. right: a bundle of a right sampler, of the same suites and name.

    policy: the text of the policy, which some ways change. today: the
    date of the gate's clock; "" for today's. baseline: a bundle of the last release, or None.
    """

    folder: Path
    right: Path
    policy: str
    today: str = ""
    baseline: Path | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results.jsonl"

    def info(self) -> Line:
        return dict(json.loads((self.folder / "run.json").read_text(encoding="utf-8")))

    def set_info(self, seal: Seal = "all", **changes: Any) -> None:
        self.write_info(self.info() | changes, seal)

    def write_info(self, info: Line, seal: Seal = "all") -> None:
        text = json.dumps(info, indent=2) + "\n"
        (self.folder / "run.json").write_text(text, encoding="utf-8")
        self.seal(seal)

    def merge_info(self, **changes: Line) -> None:
        """Add or change entries of these tables of run.json."""
        info = self.info()
        self.set_info(**{name: info.get(name, {}) | more for name, more in changes.items()})

    def backend(self, name: str = "mine", **changes: Any) -> None:
        self.merge_info(backends={name: self.info()["backends"][name] | changes})

    def lines(self) -> list[Line]:
        return [json.loads(line) for line in self.results.read_text("utf-8").splitlines()]

    def write(self, lines: list[Line], seal: Seal = "all", recount: bool = True) -> None:
        """Write the records. recount: the footer states how many there are."""
        if recount and lines and lines[-1]["kind"] == "footer":
            lines[-1] |= counted(lines)
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        self.results.write_text(text, encoding="utf-8")
        self.seal(seal)

    def each(self, change: Callable[[Line], Line | None], seal: Seal = "all") -> None:
        """Change every case that failed; None removes it."""
        kept = [change(line) if failed(line) else line for line in self.lines()]
        self.write([line for line in kept if line is not None], seal)

    def seal(self, seal: Seal) -> None:
        if seal == "as it was":
            return
        lines = self.results.read_bytes().splitlines(keepends=True)
        about = hashlib.sha256((self.folder / "run.json").read_bytes()).hexdigest()
        footer = json.loads(lines[-1]) if lines else {}
        if footer.get("kind") == "footer":
            footer |= {"sha256": sha256(lines[:-1]), "run_sha256": about}
            lines[-1] = (json.dumps(footer, separators=(",", ":")) + "\n").encode()
            self.results.write_bytes(b"".join(lines))
        if seal == "all":
            sums = writer.of_run(about) + writer.of_lines(hashlib.sha256(), lines)
            (self.folder / writer.NAME).write_bytes(sums)

    def forget_artifacts(self) -> None:
        for path in (self.folder / "artifacts").iterdir():
            path.unlink()

    def forget_counterexamples(self) -> None:
        self.write([line for line in self.lines() if line["kind"] != "counterexample"])

    def pass_all(self, seal: Seal = "all") -> None:
        """Change every verdict completely: no trace of a failure is left."""
        self.forget_artifacts()
        self.forget_counterexamples()
        self.each(clean, seal)


def failed(line: Line) -> bool:
    """Return whether a line is a case that `mine` failed."""
    if line["kind"] != "case":
        return False
    return any(got["verdict"] != "identical" for got in line["backends"].values())


def result(line: Line, **changes: object) -> Line:
    backends = {name: got | changes for name, got in line["backends"].items()}
    return line | {"backends": backends}


def clean(line: Line) -> Line:
    return result(line, verdict="identical", **BLANK)


def counted(lines: list[Line]) -> Line:
    records: dict[str, int] = {}
    for line in lines:
        if line["kind"] not in ("header", "footer"):
            records[line["kind"]] = records.get(line["kind"], 0) + 1
    steps = sum(line["steps"] for line in lines if line["kind"] == "case")
    return {"cases": records.get("case", 0), "steps": steps, "records": records}


def sha256(lines: list[bytes]) -> str:
    return hashlib.sha256(b"".join(lines)).hexdigest()
