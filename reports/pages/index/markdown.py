"""index.html as Markdown."""

import shlex

from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.pages.index.labels import counted, held, required
from sampler_parity.reports.pages.index.model import Index
from sampler_parity.reports.writers.markdown import fitting, table

FINDINGS = 8


def markdown(index: Index) -> str:
    return fitting("\n".join(_lines(index, most)) + "\n" for most in (100, 20, 0))


def _rest(n: int) -> list[str]:
    return [f"- and {n:,} more findings"] if n > 0 else []


def _lines(index: Index, most: int) -> list[str]:
    """most: backends and bundles shown."""
    lines = [f"# sampler-parity: {'ok' if index.ok else 'FAILED'}", ""]
    told = [
        f"- {'**finding**' if f.fails else 'finding'}: {safe(f.text, 220)}" for f in index.findings
    ]
    lines += [*told[:FINDINGS], *_rest(len(told) - FINDINGS), *([""] if told else [])]
    for page in index.pages:
        state = "" if page.ok is None else f" {'ok' if page.ok else '**FAILED**'}"
        lines.append(f"- **{page.title}**{state}: {safe('; '.join(page.figures), 600)}")
    lines += [f"- {title}: not measured in these bundles" for title in index.missing]
    rows = [
        [
            code(b.name),
            required(b),
            safe(counted(b)),
            code(" ".join(filter(None, (b.version, b.build))), 200),
        ]
        for b in index.backends[:most]
    ]
    lines += ["", *table(["backend", "as required", "verdicts", "version, build"], rows), ""]
    for made in index.bundles[:most]:
        lines.append(
            f"{code(made.name)}: {held(made)}, {code(made.started)}, "
            f"{code(made.machine.cpu)}, {code(shlex.join(made.command), 300)}, "
            f"sha256 {code(made.sha256[:16])}"
        )
    left_out = max(0, len(index.backends) - most) + max(0, len(index.bundles) - most)
    return [*lines, f"{left_out:,} backends and bundles more."] if left_out else lines
