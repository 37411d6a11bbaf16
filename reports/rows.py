"""Pages of a report that are about no single kind of record, a row each (harness/rows)."""

from sampler_parity.harness.rows import PageRow

PAGES = (
    PageRow("reports.pages.matrix.matrix_page:MATRIX", 10),
    PageRow("reports.pages.parity.parity_page:PARITY", 20),
    PageRow("reports.pages.platforms.platforms_page:PLATFORMS", 110),
    PageRow("reports.pages.compare.compare_page:COMPARE", 120),
)
