"""index.html: what was checked, on what, what came of it, and links to the pages that say more."""

import json
from collections import Counter
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sampler_parity.harness.bundle.bundle import Bundle, digest
from sampler_parity.harness.bundle.records.case import Machine
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.pages.parity.html import environment
from sampler_parity.reports.pages.parity.markdown import code, fitting, safe, table
from sampler_parity.reports.render.frame import Page
from sampler_parity.reports.render.words import one_line, visible

TITLES = {"parity": "Parity", "throughput": "Throughput", "skip-ratio": "Skip ratio"}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PageLine(_Part):
    """ok: None where the page only measures. figures: what it comes to."""

    stem: str
    title: str
    ok: bool | None
    figures: list[str]


class Checked(_Part):
    """A backend of a bundle. verdicts: of cases. unavailable: why it did not run, or ""."""

    bundle: str
    name: str
    version: str
    build: str
    device: str
    judged_by: str
    cases: int
    met: int
    verdicts: dict[str, int]
    unavailable: str


class Made(_Part):
    """How a bundle was made. sha256: of its run.json and results.jsonl. suites: digest by name."""

    name: str
    sha256: str
    version: str
    started: str
    command: list[str]
    profile: str
    seed: int
    wall_s: float
    cases: int
    steps: int
    samplers: list[str]
    suites: dict[str, str]
    machine: Machine


class Index(_Part):
    """missing: titles of pages for which the bundles hold nothing."""

    schema_version: Literal[1] = 1
    kind: Literal["index"] = "index"
    ok: bool
    pages: list[PageLine]
    missing: list[str]
    backends: list[Checked]
    bundles: list[Made]

    @property
    def cases(self) -> int:
        return sum(made.cases for made in self.bundles)

    @property
    def steps(self) -> int:
        return sum(made.steps for made in self.bundles)

    @property
    def samplers(self) -> list[str]:
        return sorted({name for made in self.bundles for name in made.samplers})


def schema_text() -> str:
    """The text of reports/schemas/index.schema.json."""
    schema = Index.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def index_of(bundles: list[Bundle], pages: list[Page]) -> Index:
    found = Index(
        ok=bool(pages) and all(page.ok is not False for page in pages),
        pages=[
            PageLine(stem=page.stem, title=page.title, ok=page.ok, figures=page.figures)
            for page in pages
        ],
        missing=[title for stem, title in TITLES.items() if stem not in {p.stem for p in pages}],
        backends=[_checked(bundle, name) for bundle in bundles for name in bundle.info.backends],
        bundles=[_made(bundle) for bundle in bundles],
    )
    return Index.model_validate(visible(found.model_dump()))


def _checked(bundle: Bundle, name: str) -> Checked:
    info = bundle.info.backends[name]
    cases = [case for case in bundle.cases if name in case.backends]
    counted = Counter(case.backends[name].verdict for case in cases)
    return Checked(
        bundle=bundle.folder.resolve().name,
        name=name,
        version=info.version,
        build=info.build,
        device=info.device,
        judged_by=info.reference,
        cases=len(cases),
        met=sum(case.met(name) for case in cases),
        verdicts={verdict: counted[verdict] for verdict in ORDER if counted[verdict]},
        unavailable=info.unavailable,
    )


def _made(bundle: Bundle) -> Made:
    info = bundle.info
    return Made(
        name=bundle.folder.resolve().name,
        sha256=digest(bundle.folder),
        version=info.version,
        started=info.started,
        command=info.command,
        profile=info.profile,
        seed=info.seed,
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        cases=len(bundle.cases),
        steps=sum(case.steps for case in bundle.cases),
        samplers=sorted({sampler for case in bundle.cases for sampler in case.samplers}),
        suites=info.suites,
        machine=info.machine,
    )


def html(index: Index) -> str:
    template = environment().get_template("index.html.j2")
    return template.render(index=index, counted=counted, one_line=one_line)


def counted(backend: Checked) -> str:
    """Its cases by verdict: "351/363 identical, 12 diverged"."""
    if backend.unavailable:
        return f"did not run: {backend.unavailable}"
    if not backend.cases:
        return "no case"
    parts = [f"{backend.verdicts.get('identical', 0):,}/{backend.cases:,} identical"]
    others = [verdict for verdict in reversed(ORDER) if verdict != "identical"]
    parts += [f"{backend.verdicts[v]:,} {v}" for v in others if v in backend.verdicts]
    return ", ".join(parts)


def markdown(index: Index) -> str:
    return fitting("\n".join(_lines(index, most)) + "\n" for most in (100, 20, 0))


def _lines(index: Index, most: int) -> list[str]:
    """most: backends and bundles shown."""
    lines = [f"# sampler-parity: {'ok' if index.ok else 'FAILED'}", ""]
    for page in index.pages:
        state = "" if page.ok is None else f" {'ok' if page.ok else '**FAILED**'}"
        lines.append(f"- **{page.title}**{state}: {safe('; '.join(page.figures), 600)}")
    lines += [f"- {title}: not measured in these bundles" for title in index.missing]
    rows = [
        [
            code(b.name),
            "not run" if b.unavailable else f"{b.met:,}/{b.cases:,}",
            safe(counted(b)),
            code(" ".join(filter(None, (b.version, b.build))), 200),
        ]
        for b in index.backends[:most]
    ]
    lines += ["", *table(["backend", "as required", "verdicts", "version, build"], rows), ""]
    for made in index.bundles[:most]:
        lines.append(
            f"{code(made.name)}: {made.cases:,} cases, {made.steps:,} steps, {code(made.started)}, "
            f"{code(made.machine.cpu)}, {code(' '.join(made.command), 300)}, "
            f"sha256 {code(made.sha256[:16])}"
        )
    left_out = max(0, len(index.backends) - most) + max(0, len(index.bundles) - most)
    return [*lines, f"{left_out:,} backends and bundles more."] if left_out else lines
