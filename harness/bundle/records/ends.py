"""The first and the last line of a bundle: without them it is unfinished."""

from typing import Literal

from sampler_parity.harness.strict import Strict


class Header(Strict):
    kind: Literal["header"] = "header"
    format: Literal[1] = 1
    """version of the format"""


class Footer(Strict):
    """The last line of a finished run. A bundle without it is unfinished."""

    kind: Literal["footer"] = "footer"
    cases: int
    """number of cases"""
    steps: int
    """number of steps"""
    wall_s: float
    cells: int = 0
    """number of distribution tests"""
    skip_ratios: int = 0
    """number of workloads"""
    records: dict[str, int] = {}
    """number of records by kind"""
    sha256: str = ""
    """SHA-256 of all bytes before this line"""
    run_sha256: str = ""
    """SHA-256 of `run.json`"""
