"""index.html: what was checked, on which backends, the results, and links to the other pages."""

from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.index.build import Overview, index_of
from sampler_parity.reports.pages.index.document import document
from sampler_parity.reports.pages.index.model import Index
from sampler_parity.reports.summary import PageSummary

INDEX = Page[Overview, Index](
    stem="index",
    title="Overview",
    answers="What was checked, on what, and what came of it?",
    model=Index,
    build=index_of,
    document=document,
    summary=lambda index: PageSummary(index.ok, []),
)
