"""The result of a comparison of bundles; reports/schemas/compare.schema.json is made of it."""

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.strict import Strict


class ComparisonColumn(Strict):
    """base: the column that it is compared with; None for the first of its implementation.

    common, differing: cases and distribution tests of both, and those whose verdict differs.
    missing, added: those that only the base, or only this column has; changed: with another suite
    file.
    """

    bundle: str
    backend: str
    base: int | None
    common: int
    differing: int
    missing: int
    added: int
    changed: int


class Fact(Strict):
    """values: by column; of processor features, those added and missing compared with the base."""

    name: str
    values: list[str]
    differs: bool


class Verdicts(Strict):
    """Cases with the same verdicts in all columns; None: the column lacks them, or has others.

    places: the stage that differs from the reference. what: "case" or "distribution".
    """

    what: str
    suite: str
    verdicts: list[str | None]
    places: list[str]
    cases: list[str]


class LogitsBeside(Strict):
    """A column compared with its base, on the prompts and model of both.

    equal: prompts whose logits are all equal to the bit. kept: prompts whose last row both keep;
    difference, kl_max and top1 are about these. texts, texts_equal: generations of both.
    """

    column: int
    prompts: int
    equal: int
    kept: int
    top1: int
    difference: float | None
    kl_max: float | None
    texts: int
    texts_equal: int


class ConfidenceInterval(Strict):
    """The interval of a distribution test: an estimate of the bounded quantity."""

    estimate: float
    low: float
    high: float


class Cell(Strict):
    """A distribution test that both columns of some pair have. apart: intervals do not overlap."""

    id: str
    suite: str
    decisions: list[str | None]
    intervals: list[ConfidenceInterval | None]
    apart: bool


class Ratio(Strict):
    """A ratio of medians, to the base column. low, high: bootstrap 95%; None with fewer than two
    rounds."""

    value: float
    low: float | None
    high: float | None


class Speed(Strict):
    """A measured figure by column; ratios: to the base column's."""

    kind: str
    id: str
    unit: str
    values: list[float | None]
    ratios: list[Ratio | None]


class Unavailable(Strict):
    """A backend of a bundle that did not run there, and so has no column."""

    bundle: str
    backend: str
    why: str


class BundleComparison(Strict):
    """ok: no verdict and no decision differs, and every pair has something in common."""

    ok: bool
    columns: list[ComparisonColumn]
    unavailable: list[Unavailable]
    runs: dict[str, RunInfo]
    facts: list[Fact]
    verdicts: list[Verdicts]
    logits: list[LogitsBeside]
    cells: list[Cell]
    speeds: list[Speed]
