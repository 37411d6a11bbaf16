"""Labels of index.html."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reference.registry import REFERENCE_ROWS
from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import device_label, several
from sampler_parity.reports.pages.index.model import CheckedBackend, Index, Made, SuiteCount
from sampler_parity.reports.summary import HeatCell

NAMED = 4  # backends in a line
FIRST = 2  # samplers of a suite


def counted(backend: CheckedBackend) -> str:
    """Return its cases by verdict: "351/363 identical, 12 diverged"."""
    if backend.unavailable:
        return f"did not run: {backend.unavailable}"
    if not backend.cases:
        return "no case"
    parts = [f"{backend.verdicts.get('identical', 0):,}/{backend.cases:,} identical"]
    others = [verdict for verdict in reversed(ORDER) if verdict != "identical"]
    parts += [f"{backend.verdicts[v]:,} {v}" for v in others if v in backend.verdicts]
    return ", ".join(parts)


def required(backend: CheckedBackend) -> str:
    """Return how many of its cases are as required."""
    if backend.unavailable:
        return "not run"
    return f"{backend.met:,}/{backend.cases:,}" if backend.cases else "no case"


def held(made: Made) -> str:
    """Return what a bundle has: "363 cases in 380 steps, 17 distribution tests"."""
    parts = []
    if made.cases:
        parts.append(f"{several(made.cases, 'case')} in {several(made.steps, 'step')}")
    parts += [several(n, what) for what, n in made.others.items()]
    return ", ".join(parts) or "no case"


def total(index: Index) -> str:
    """Return what all bundles have."""
    parts = []
    if index.cases:
        parts = [several(index.cases, "case"), several(index.steps, "step")]
    names = dict.fromkeys(what for made in index.bundles for what in made.others)
    sums = {what: sum(made.others.get(what, 0) for made in index.bundles) for what in names}
    parts += [several(n, what) for what, n in sums.items()]
    if index.samplers:
        parts.append(several(len(index.samplers), "sampler"))
    return ", ".join([*(parts or ["no case"]), several(len(index.backends), "backend")])


def run(index: Index) -> str:
    """Return project, version, date, how much ran, and each backend with its device, if few."""
    versions = ", ".join(sorted({made.version for made in index.bundles}))
    days = sorted({made.started[:16].replace("T", " ") for made in index.bundles})
    when = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
    ran = [backend for backend in index.backends if not backend.unavailable]
    names = dict.fromkeys(
        ", ".join(filter(None, (" ".join((b.name, b.version)), device_label(b.device))))
        for b in ran
    )
    on = "; ".join(names) if len(names) <= NAMED else several(len(names), "backend")
    much = f"{several(index.cases, 'case')}, {several(index.steps, 'step')}"
    return f"sampler-parity {versions}, {when} UTC. {much}, on {on or 'no backend'}."


def samplers(suite: SuiteCount) -> str:
    """Return how many cases use each sampler: "top_p 363, dist 12, +3"."""
    shown = [f"{name} {n:,}" for name, n in list(suite.samplers.items())[:FIRST]]
    rest = len(suite.samplers) - len(shown)
    return ", ".join([*shown, *([f"+{rest:,}"] if rest else [])])


def not_judged(index: Index) -> list[str]:
    """Return what has no verdict: backends, skipped cases, samplers and pages."""
    lines = [
        f"{b.name} of {b.bundle}: did not run: {one_line(b.unavailable, 200)}"
        for b in index.backends
        if b.unavailable
    ]
    lines += [
        f"{b.name} of {b.bundle}: {several(b.verdicts['skipped'], 'case')} skipped: the backend "
        "does not claim what they need"
        for b in index.backends
        if b.verdicts.get("skipped")
    ]
    left = [name for name in REFERENCE_ROWS if name not in index.samplers]
    lines += [f"No case: {', '.join(left)}"] if index.cases and left else []
    return lines + [f"{title}: not measured in these bundles" for title in index.missing]


def heat(cell: HeatCell) -> str:
    """Return what stands in a cell of the map."""
    if not cell.cases:
        return "skipped" if cell.skipped else ""
    if cell.failing:
        return f"{cell.failing:,}/{cell.cases:,}"
    return f"{cell.cases:,}, {cell.allowed:,} differ" if cell.allowed else f"{cell.cases:,}"


def heat_tone(cell: HeatCell) -> Tone:
    """Return the colour of a cell of the map."""
    if not cell.cases:
        return "quiet"
    if not cell.failing:
        return "fair" if cell.allowed else "good"
    share = cell.failing / cell.cases
    return "hot1" if share < 0.1 else "hot2" if share < 0.5 else "hot3"
