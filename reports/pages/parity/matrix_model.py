"""The parity matrix, sampler x implementation; part of the report's model."""

from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict


class MatrixDifference(Strict):
    """Cases of a cell with the same verdict and first differing stage ("" if none is named).

    why: from suites/explanations.toml, or the backend's reason for refusing; "": not explained.
    """

    stage: str
    verdict: Verdict
    cases: int
    why: str


class ParityMatrixCell(Strict):
    """Cases with the sampler in their chain that are identical, or first differ at it. verdict: the
    worst; None without a case."""

    cases: int
    identical: int
    verdict: Verdict | None
    differences: list[MatrixDifference]


class ParityMatrixRow(Strict):
    """cells: in the order of the matrix's backends."""

    sampler: str
    cells: list[ParityMatrixCell]


class ParityMatrix(Strict):
    """unexplained: results without an explanation on a backend that this project brings."""

    backends: list[str]
    rows: list[ParityMatrixRow]
    unexplained: int
