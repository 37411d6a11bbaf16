"""The invariance page: what do the texts next to it change in the logits of a text?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.invariance.build import report_of
from sampler_parity.reports.pages.invariance.document import document
from sampler_parity.reports.pages.invariance.model import InvarianceReport
from sampler_parity.reports.pages.invariance.summary import summary

INVARIANCE = Page[list[Bundle], InvarianceReport](
    stem="invariance",
    title="Invariance",
    answers="What do the other texts of a batch change in the logits of a text?",
    model=InvarianceReport,
    build=report_of,
    document=document,
    summary=summary,
    missed=False,
)
