"""What `sampler-parity calibrate` prints at its end."""

from sampler_parity.reports.pages.calibration.model import CalibrationReport


def terminal_lines(report: CalibrationReport) -> list[str]:
    """Claims that do not hold."""
    (part,) = report.sections
    return [f"NOT MET {c.text}: {c.seen}" for c in part.result.claims if not c.met]


def last_line(report: CalibrationReport) -> str:
    (part,) = report.sections
    claims = f"{part.met}/{len(part.result.claims)} claims of the tests hold"
    state = "ok" if part.ok else "FAILED"
    return f"calibration   {claims}   {part.result.wall_s:,.1f} s   {state}"
