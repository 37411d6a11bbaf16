"""The matrix page: what does each engine do, property by property and sampler by sampler?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.matrix.build import matrix_of
from sampler_parity.reports.pages.matrix.html import html
from sampler_parity.reports.pages.matrix.labels import headlines
from sampler_parity.reports.pages.matrix.markdown import markdown
from sampler_parity.reports.pages.matrix.model import Matrix

MATRIX = Page[list[Bundle], Matrix](
    stem="matrix",
    title="Engines",
    answers="What does each engine do, property by property and sampler by sampler?",
    model=Matrix,
    build=matrix_of,
    missed=False,
    old=OldForms(
        html=html,
        markdown=markdown,
        headlines=headlines,
        ok=lambda matrix: matrix.ok,
    ),
)
