"""What `sampler-parity` prints of predictions."""

from sampler_parity.reports.pages.platforms.build import headlines
from sampler_parity.reports.pages.platforms.model import PlatformsReport


def terminal_lines(report: PlatformsReport) -> list[str]:
    return [f"platform {line}" for line in headlines(report)]
