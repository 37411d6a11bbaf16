"""The matrix page: what does each engine do, property by property and sampler by sampler?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.matrix.build import matrix_of
from sampler_parity.reports.pages.matrix.document import document
from sampler_parity.reports.pages.matrix.labels import headlines
from sampler_parity.reports.pages.matrix.model import Matrix
from sampler_parity.reports.summary import PageSummary

MATRIX = Page[list[Bundle], Matrix](
    stem="matrix",
    title="Engines",
    answers="What does each engine do, property by property and sampler by sampler?",
    model=Matrix,
    build=matrix_of,
    document=document,
    summary=lambda matrix: PageSummary(matrix.ok, headlines(matrix)),
    missed=False,
)
