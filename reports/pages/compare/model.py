"""The model of the comparison; reports/schemas/compare.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.comparison.records import BundleComparison


class CompareReport(BundleComparison):
    schema_version: Literal[1] = 1
    kind: Literal["compare"] = "compare"
