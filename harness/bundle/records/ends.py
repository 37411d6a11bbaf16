"""The first and the last line of a bundle: without them it is unfinished."""

from typing import Literal

from sampler_parity.harness.strict import Strict


class Header(Strict):
    kind: Literal["header"] = "header"
    format: Literal[1] = 1


class Footer(Strict):
    """The last line of a finished run; a bundle without it is unfinished. records: how many of
    each kind there are; sha256: of all bytes before this line; run_sha256: of run.json; all
    empty in bundles of older versions."""

    kind: Literal["footer"] = "footer"
    cases: int
    steps: int
    wall_s: float
    cells: int = 0
    skip_ratios: int = 0
    records: dict[str, int] = {}
    sha256: str = ""
    run_sha256: str = ""
