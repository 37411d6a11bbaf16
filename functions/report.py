"""What a check found: text for a terminal, HTML for a notebook."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

FEW = 3  # findings in a text


@dataclass(frozen=True)
class Finding:
    """Results that are wrong for one reason. id: the sampler and the kind, as `top_p/fewer`. text:
    what is wrong, in one line. lines: the smallest input and both values. cases: ids of the
    suite."""

    id: str
    text: str
    lines: Sequence[str] = ()
    cases: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join([self.text, *(f"  {line}" for line in self.lines)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True)
class Report:
    """headline: the result in one line. ok: something was judged, and no finding is left. notes:
    what was not judged, or facts that are no findings."""

    headline: str
    ok: bool
    findings: Sequence[Finding] = ()
    notes: Sequence[str] = ()

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [self.headline, *self.notes]
        for finding in self.findings[:FEW]:
            repeated = finding.text == self.headline
            lines += str(finding).splitlines()[1:] if repeated else ["", *str(finding).splitlines()]
        if (more := len(self.findings) - FEW) > 0:
            lines += ["", f"{more:,} more: .findings has all"]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<br>{html.escape(note)}" for note in self.notes)
        findings = "".join(finding._repr_html_() for finding in self.findings)
        return f"<p><b>{html.escape(self.headline)}</b>{notes}</p>{findings}"
