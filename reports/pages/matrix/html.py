"""The matrix page as HTML."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.matrix import labels as words
from sampler_parity.reports.pages.matrix.model import Matrix
from sampler_parity.reports.writers.html import template


def html(matrix: Matrix) -> str:
    page = template("matrix.html.j2", one_line=one_line, words=words)
    return page.render(matrix=matrix)
