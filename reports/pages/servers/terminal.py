"""What a check of servers prints at its end."""

from sampler_parity.reports.pages.servers.build import headlines
from sampler_parity.reports.pages.servers.model import ServersReport


def terminal_lines(report: ServersReport) -> list[str]:
    return [f"server   {line}" for line in headlines(report)]
