"""index.html: what was checked, on what, what came of it, and links to the pages that say more."""

from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.index.build import Overview, index_of
from sampler_parity.reports.pages.index.html import html
from sampler_parity.reports.pages.index.markdown import markdown
from sampler_parity.reports.pages.index.model import Index

INDEX = Page[Overview, Index](
    stem="index",
    title="Overview",
    answers="What was checked, on what, and what came of it?",
    model=Index,
    build=index_of,
    old=OldForms(
        html=html,
        markdown=markdown,
        ok=lambda index: index.ok,
    ),
)
