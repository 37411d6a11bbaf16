"""Write what a person must decide about a release, as Markdown, with the places to edit."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sampler_parity.harness.llama_cpp.signatures import SIGNATURES
from sampler_parity.reference.chronology import SEEN
from scripts.follow.edits import INIT, Edited
from scripts.follow.sources import Changed
from scripts.follow.trial import Cause

SHOWN = 3  # cases of a cause
Counts = Mapping[str, tuple[int, int]]  # lines that went and came, by function

NEW_SAMPLER = (
    "`reference/samplers/NAME.py`, a row of `reference/registry.py`, `suites/parity/NAME.toml`,"
    " `harness/faults/NAME.toml`, `tests/reference/test_NAME.py`, a row of"
    " `harness/llama_cpp/signatures.toml`. `pytest tests/project/test_complete.py` lists what is"
    " missing (docs/background/add-a-sampler.md)"
)
LISTS = (
    "`reference/chronology.py`: NEWEST, if a meaning changed or the pinned llama-cpp-python is of"
    " this release",
    "`harness/llama_cpp/libllama.py`: CONTEXT_PARAMS, without which the release decodes nothing",
    "`scripts/slow.mk`: DRIFT_PACKAGES and DRIFT_RELEASES",
    "`tests/llama_cpp/test_builds.py`: the list of builds",
    "`tests/reference/test_release_meanings.py`, `docs/background/drift.md`,"
    " `reference/changes.toml` and `reference/releases.py`: texts with the newest release",
)


@dataclass(frozen=True)
class Found:
    """All that was found of a release. new: prototypes of initializers without a model, by symbol;
    "" if no header states it. not_asked: cases by the reason that they were not run. only_before:
    cases that fail on the release before alone."""

    release: str
    before: str
    package: str
    facts: Sequence[tuple[str, str]]
    edited: Edited
    cases: int
    causes: Sequence[Cause]
    prototypes: Sequence[Changed] = ()
    structures: Sequence[Changed] = ()
    new: Mapping[str, str] = field(default_factory=dict)
    gone: Sequence[str] = ()
    functions: Counts = field(default_factory=dict)
    not_asked: Mapping[str, int] = field(default_factory=dict)
    only_before: Sequence[str] = ()

    @property
    def decisions(self) -> int:
        lists = (self.causes, self.prototypes, self.structures, self.new, self.gone)
        return sum(map(len, lists)) + bool(self.only_before)

    @property
    def silent(self) -> list[str]:
        """The functions that changed and no case shows."""
        shown = {cause.stage for cause in self.causes if cause.stage}
        names = (name for name in self.functions if not in_graph(name))
        return [name for name in names if sampler_of(name) not in shown]


def page(found: Found, root: Path) -> str:
    """Return the page. root: of the tree, whose files are named only if they are there."""
    parts = [
        *_head(found),
        *_signatures(found),
        *_samplers(found),
        *_causes(found, root),
        *_functions(found),
        *_edits(found),
    ]
    return "\n".join(parts) + "\n"


def _head(found: Found) -> Iterator[str]:
    yield f"# llama.cpp {found.release}, after {found.before}\n"
    failed = sum(len(cause.cases) for cause in found.causes)
    yield (
        f"{found.cases:,} cases ran on {found.release}; {failed:,} differ, by"
        f" {len(found.causes)} causes. {found.decisions} points need a decision,"
        f" {len(found.silent)} functions are to be read.\n"
    )
    yield from _table(("", ""), [("package", f"`{found.package}`"), *found.facts])


def _signatures(found: Found) -> Iterator[str]:
    yield "## Signatures and structures that changed\n"
    if not found.prototypes and not found.structures:
        yield "None.\n"
        return
    rows = [(one.name, one.before, one.now) for one in (*found.prototypes, *found.structures)]
    yield from _table(
        ("", found.before, found.release), [(f"`{n}`", *map(_code, parts)) for n, *parts in rows]
    )
    called = [one.name for one in found.prototypes if not one.name.startswith(INIT)]
    if called:
        yield f"Edit `harness/llama_cpp/functions.toml`: {', '.join(map(_code, called))}.\n"
    if found.structures:
        yield (
            "If the harness sets or reads one of these fields, edit the structures of"
            " `harness/llama_cpp/libllama.py` and `harness/llama_cpp/candidates.py`.\n"
        )


def _samplers(found: Found) -> Iterator[str]:
    yield "## Samplers that are new\n"
    for symbol, prototype in found.new.items():
        yield f"- `{symbol}{prototype}` has no model. Add"
        yield f"  {NEW_SAMPLER.replace('NAME', symbol.removeprefix(INIT))}."
    yield "" if found.new else "None.\n"
    yield "## Samplers that are gone\n"
    for symbol in found.gone:
        yield f"- `{symbol}`: move its cases to `suites/removed/`, and note it in `changes/`."
    yield "" if found.gone else "None.\n"


def _causes(found: Found, root: Path) -> Iterator[str]:
    yield "## Cases that differ, by cause\n"
    for cause in found.causes:
        yield f"### {cause.stage or 'no stage'}: {cause.verdict}, {len(cause.cases):,} cases\n"
        if cause.what:
            yield f"First: {', '.join(f'{what} in {n:,}' for what, n in cause.what.items())}."
        if cause.before:
            yield f"{cause.before:,} of them fail on {found.before}, too."
        yield f"The shortest: {', '.join(map(_code, cause.cases[:SHOWN]))}.\n"
        if cause.detail:
            yield f"    {cause.detail}\n"
        yield f"    sampler-parity explain bundle {cause.cases[0]}\n"
        yield from _because(found, cause)
        yield from (f"- {place}" for place in places(cause, found, root))
        yield ""
    if not found.causes:
        yield "None.\n"
    if found.only_before:
        shown = ", ".join(map(_code, found.only_before[:SHOWN]))
        yield f"{len(found.only_before):,} cases fail on {found.before} alone: {shown}.\n"
    for reason, n in found.not_asked.items():
        yield f"Not run: {n:,} cases. {reason}.\n"


def _because(found: Found, cause: Cause) -> Iterator[str]:
    names = [name for name in found.functions if not in_graph(name)]
    own = [name for name in names if sampler_of(name) == cause.stage and cause.stage]
    if own:
        yield f"Its source changed: {_counted(own, found.functions)}. See sources.diff.\n"
    elif found.functions and cause.verdict != "identical":
        shared = [name for name in names if not sampler_of(name)]
        others = f" Others did: {_counted(shared, found.functions)}." if shared else ""
        yield f"No function with its name changed.{others}\n"
    if f"{INIT}{cause.stage}" in {one.name for one in found.prototypes}:
        yield "Its signature changed. If every case of it differs, look there first.\n"


def places(cause: Cause, found: Found, root: Path) -> list[str]:
    """Return the files to edit for a cause, each with what belongs there."""
    stage = cause.stage
    if cause.verdict == "identical":
        return ["`suites/`: a case states a result that the newest modelled meaning does not have"]
    if not stage:
        return [
            "`harness/llama_cpp/`: if the harness calls the release wrongly",
            "`reference/`: if the release refuses now what it took, or the other way round",
        ]
    older = sorted((root / "reference" / "older").glob(f"{stage}_b*.py"))
    sibling = f"`{older[-1].relative_to(root).as_posix()}`" if older else "a new file"
    listed = [
        (f"reference/samplers/{stage}.py", f"the meaning of {found.release}"),
        (f"suites/parity/{stage}.toml", "a case that decides it by hand"),
        (f"harness/faults/{stage}.toml", "a planted fault for it"),
    ]
    return [
        *(f"`{path}`: {what}" for path, what in listed if (root / path).exists()),
        f"`reference/older/`: the meaning up to {SEEN}, in {sibling}",
        f'`reference/changes.toml`: a row with last_old = "{SEEN}" and'
        f' first_new = "{found.release}"',
        "`reference/releases.py`: the older sampler in _OLDER, if it has none yet",
    ]


def _functions(found: Found) -> Iterator[str]:
    silent, graph = found.silent, [name for name in found.functions if in_graph(name)]
    yield "## Other functions that changed\n"
    if silent:
        yield f"{_counted(silent, found.functions)}.\n"
        yield (
            f"On {found.release} no case differs at their sampler. Read them in sources.diff."
            " Either the result stays, or a case is missing.\n"
        )
    else:
        yield "None.\n"
    if graph:
        yield f"In the graph, which was not run: {_counted(graph, found.functions)}.\n"


def _edits(found: Found) -> Iterator[str]:
    yield "## Edits\n"
    yield "`git apply edits.patch` makes these, which the run had:\n"
    yield from (f"- {line}" for line in found.edited.done)
    yield "\nBy hand:\n"
    yield from (f"- {line}" for line in (*found.edited.left, *LISTS))


def sampler_of(function: str) -> str:
    """Return the sampler that a function or structure of llama.cpp is of by its name, or ""."""
    if function.startswith(("llama_grammar", "parse_")):
        return "grammar"
    match = re.fullmatch(r"llama_sampler?_(?:init_)?(\w+)", function)
    symbols = {row.symbol: name for name, rows in SIGNATURES.items() for row in rows}
    of = [s for s in symbols if match and f"{match[1]}_".startswith(f"{s}_")]
    return symbols[max(of, key=len)] if of else ""


def in_graph(function: str) -> bool:
    return "_backend" in function


def _counted(names: Sequence[str], counts: Counts) -> str:
    return ", ".join(f"`{name}` (-{counts[name][0]} +{counts[name][1]})" for name in names)


def _code(text: str) -> str:
    return f"`{text}`" if text else "-"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"
    yield ""
