"""The model of the matrix page; reports/schemas/matrix.schema.json is made of it."""

from typing import Any, Literal

from sampler_parity.harness.checks.distribution.record import Decision
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict


class CellDifference(Strict):
    """Cases of a cell with one verdict, at one stage, of one explanation; of a property one case.

    why: from suites/explanations.toml, or the reply of the engine; "" if it is not explained.
    required: whether each case allows the verdict.
    margin: the largest distance. For a boundary it is a share of the cut; for a close value it is
    by how much the value is off.
    case: the first one, with its reason, both sides and the command that replays it.
    others: ids of more cases, not all.
    """

    verdict: Verdict
    stage: str
    cases: int
    why: str
    required: bool
    margin: float | None
    case: str
    description: str
    what: str
    got: Any
    expected: Any
    detail: str
    replay: str
    others: list[str]


class MatrixCell(Strict):
    """An engine at a property or a sampler. judged: cases that were asked; met: those as required.

    verdict: the worst; None where nothing was judged. lacks: why nothing was: what the engine does
    not claim; "" where no case is there. replay: of all its cases, or of the first.
    """

    column: str
    judged: int
    identical: int
    met: int
    skipped: int
    verdict: Verdict | None
    lacks: str
    anchor: str
    replay: str
    differences: list[CellDifference]

    @property
    def unexplained(self) -> int:
        return sum(d.cases for d in self.differences if not d.why)


class DrawTally(Strict):
    """An engine's own draws against the exact distribution.

    So many distribution tests decide that it is the same, and so many decide as required.
    others: the decisions of the other tests. anchor: of the worst one that is not as required, on
    the distribution page; or "".
    """

    tests: int
    equivalent: int
    met: int
    others: dict[Decision, int]
    draws: int
    anchor: str


class EngineRow(Strict):
    """properties, samplers: by the columns of the matrix. unavailable: why it did not run, or "".
    ours: whether this project brings its adapter. page: of docs/, what it means, or ""."""

    name: str
    what: str
    page: str = ""
    ours: bool
    version: str
    build: str
    device: str
    anchor: str
    unavailable: str
    properties: list[MatrixCell]
    samplers: list[MatrixCell]
    law: DrawTally | None

    @property
    def cells(self) -> list[MatrixCell]:
        return [*self.properties, *self.samplers]

    @property
    def judged(self) -> int:
        return sum(cell.judged for cell in self.properties)

    @property
    def identical(self) -> int:
        return sum(cell.identical for cell in self.properties)


class Property(Strict):
    """A property, and what is asked of it: description by case. changed: whether the suite of a
    bundle was another than the one that is here, whose words these are."""

    name: str
    title: str
    changed: bool
    cases: dict[str, str]


class Absent(Strict):
    """An engine that is in none of the bundles. needs: what must be there. command: to run it."""

    name: str
    what: str
    needs: str
    command: str


class Matrix(Strict):
    """unexplained: results without an explanation, on engines that this project brings."""

    schema_version: Literal[1] = 1
    kind: Literal["matrix"] = "matrix"
    properties: list[Property]
    samplers: list[str]
    engines: list[EngineRow]
    absent: list[Absent]
    unexplained: int
    failing: int

    @property
    def ok(self) -> bool:
        return not self.unexplained and not self.failing
