"""The model of the platforms page; reports/schemas/platforms.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.strict import Strict


class Operation(Strict):
    """Operations that make cases differ at a sampler, in words; each of them does it alone.

    case: an example.
    smaller: the example minimized, with its first difference and the two values.
    replay: the command that predicts the example again.
    """

    words: str
    cases: int
    case: str
    smaller: str
    what: str
    here: str
    there: str
    replay: str


class PlatformCell(Strict):
    """A sampler on a platform.

    cases: those that are evidence for it. So many of these have the same bits, order and survivors,
    and so many of `drawing` the same tokens.
    texts: long ones on a model's logits. same_texts: equal to the end. token: the first that
    differs in any.
    judged: cases that ran on real builds; so many of these are identical to the prediction.
    """

    sampler: str
    cases: int
    bits: int
    order: int
    survivors: int
    drawing: int
    tokens: int
    texts: int
    same_texts: int
    token: int | None
    judged: int
    identical: int
    operations: list[Operation]


class PlatformBuild(Strict):
    """A real build of a platform that was asked. met: cases that are as required."""

    name: str
    build: str
    bundle: str
    judged: int
    identical: int
    met: int


class Column(Strict):
    """A platform. row: what decides its bits, by part. unknown: what the reference does not have of
    it. whole: of all samplers together."""

    name: str
    words: str
    row: dict[str, str]
    unknown: list[str]
    builds: list[PlatformBuild]
    whole: PlatformCell
    cells: list[PlatformCell]

    @property
    def parting(self) -> list[PlatformCell]:
        """The samplers that part a case there."""
        return [cell for cell in self.cells if cell.bits < cell.cases]

    def cell(self, sampler: str) -> PlatformCell | None:
        return next((cell for cell in self.cells if cell.sampler == sampler), None)


class PlatformsReport(Strict):
    """here: the platform to compare the others with. steady: samplers without a difference."""

    schema_version: Literal[1] = 1
    kind: Literal["platforms"] = "platforms"
    ok: bool | None
    here: str
    cases: int
    texts: int
    samplers: list[str]
    steady: list[str]
    platforms: list[Column]

    @property
    def builds(self) -> list[PlatformBuild]:
        return [build for platform in self.platforms for build in platform.builds]
