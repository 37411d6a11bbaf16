"""The distribution page: do draws follow the exact distribution?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.distribution.build import report_of
from sampler_parity.reports.pages.distribution.document import document
from sampler_parity.reports.pages.distribution.model import DistributionReport
from sampler_parity.reports.pages.distribution.summary import junit_tests, summary

DISTRIBUTION = Page[list[Bundle], DistributionReport](
    stem="distribution",
    title="Distribution",
    answers="Do the draws of every backend follow the exact law of its chain?",
    model=DistributionReport,
    build=report_of,
    document=document,
    summary=summary,
    junit_tests=lambda _, report: junit_tests(report),
)
