"""Check the suites beyond their format, the golden fixtures and the schemas.

suites:    each expands (ten cases of random blocks); ids are unique over all; descriptions
    are facts, none twice; `why` is not empty; every sampler has its suite; the chains to time
    can be built
cases:     an explicit case of a filter removes something and keeps something, or is tagged noop;
    one that decides within rounding of its threshold uses literals that are float32 values
fixtures:  every one has the digest of the manifest, every file is listed, every name exists
explained: every line of explanations.toml names a backend, a stage and verdicts, each once
schemas:   the committed JSON Schema is the one that the models make
exact:     the quick profile of a sampler with a threshold has decisions without any rounding on
    each side of it (EXACT)
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.stages.block import GivenCase, StagesCase
from sampler_parity.harness.checks.stages.blocks.matrix import Grid
from sampler_parity.harness.checks.stages.boundary import apply_around
from sampler_parity.harness.checks.stages.correct import exact_decisions
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.explanations import explanation_files, read_explanations
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.fixtures import read_manifest
from sampler_parity.harness.inputs.logits import Golden, Literals
from sampler_parity.harness.protocol.schema import protocol_schema
from sampler_parity.harness.suite.file import SuiteFile, expand, expand_kind, read_suite, suite_id
from sampler_parity.harness.suite.model import Suite
from sampler_parity.reference import SAMPLERS, Candidates
from sampler_parity.reference.registry import ROWS
from sampler_parity.reference.sampler import Sampler

FILTERS = [name for name, row in ROWS.items() if row.kind == "filter"]
OF_SAMPLERS = ("parity", "removed", "grammar", "trie")  # folders with a file for each sampler
ROUNDING = 1e-6  # a decision nearer to its threshold than this share of it may fall either way

Stage = tuple[Sampler, Candidates, Candidates]

SIDES = ("below", "at", "above")
# The operations of a threshold that can be exact, and where the exact values can lie.
EXACT: dict[str, dict[str, tuple[str, ...]]] = {
    "top_p": {"sum": SIDES, "comparison": SIDES},
    "typical_p": {"sum": SIDES, "comparison": SIDES},
    "min_p": {"comparison": SIDES[:2]},
    "xtc": {"comparison": SIDES, "draw": SIDES},
    "top_n_sigma": {"sum": SIDES, "product": SIDES, "comparison": SIDES},
    "mirostat_v2": {"comparison": SIDES},
    "infill": {"comparison": ("at",)},
}
NEVER_EXACT = {  # of a threshold, whatever the logits
    "min_p": "log(p) is exact only for p = 1, and no logit is above the largest",
    "infill": "no float is 0.2; 3 p(end) n never equals p(text); few p are near 1/4",
    "mirostat": "k is a power of logarithms",
    "dist": "u has 53 bits, more than a float32",
    "adaptive_p": "u has 53 bits, more than a float32",
}


def lint(paths: Sequence[Path], profile: Profile = "full") -> list[str]:
    """Return the problems of these suites, of golden/ and of harness/schemas/, one line each.

    profile: the cases whose ids are checked.
    """
    problems: list[str] = []
    suites: dict[Path, Suite] = {}
    ids: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        try:
            file = read_suite(path)
            suites[path] = file.suite
            name = suite_id(path)
            for item in _items(file, profile):
                ids[item].append(name)
            problems += _timings(path, expand_kind("timing", file, "full"))
            problems += _cases(path, file.suite)
        except InputError as error:
            problems.append(str(error))
    problems += _fixture_names(suites)
    problems += _unique(ids)
    problems += _prose(suites)
    problems += _missing_suites(suites)
    problems += _without_exact(exact_cases(paths))
    problems += [line for path in explanation_files() for line in _explanations(path)]
    return problems + _golden(fixtures.golden_folder()) + _schemas()


def _items(file: SuiteFile, profile: Profile) -> Iterator[str]:
    """Yield the ids of all checks of a suite."""
    yield from (case.id for case in expand(file, profile, few_random=True))
    yield from (cell.id for cell in expand_kind("distribution", file, profile))
    yield from (workload.id for workload in expand_kind("skip_ratio", file, profile))
    yield from (timed.result_id for timed in expand_kind("timing", file, profile))
    yield from (width.id for width in expand_kind("throughput", file, profile))


def _timings(path: Path, timings: list[TimedChain]) -> list[str]:
    return [
        f"{suite_id(path)}: {timed.id!r}: its chain is without {timed.sampler!r}, which it is about"
        for timed in timings
        if not any(timed.sampler in stage for stage in timed.chain)
    ]


def _unique(ids: dict[str, list[str]]) -> list[str]:
    """Return the ids that several suites use. ids: case id -> the suites that have it."""
    return [f"id {i!r} is in {' and in '.join(at)}" for i, at in ids.items() if len(at) > 1]


def _prose(suites: dict[Path, Suite]) -> list[str]:
    problems, described = [], defaultdict(list)
    for path, suite in suites.items():
        for block in suite.described():
            where = f"{suite_id(path)}: {block.id!r}"
            described[block.description.strip().lower()].append(where)
            if re.search(r"\bshould\b", block.description, re.IGNORECASE):
                problems.append(f"{where}: the description uses 'should' - state a fact")
            if not block.description.strip():
                problems.append(f"{where}: the description is empty")
            if len(block.description) > 70:
                problems.append(f"{where}: the description is longer than 70 characters")
            if not block.why.strip():
                problems.append(f"{where}: why is empty - name the defect that it catches")
    return problems + [
        f"{places[0]}: the same description as {', '.join(places[1:])}"
        for places in described.values()
        if len(places) > 1
    ]


def _missing_suites(suites: dict[Path, Suite]) -> list[str]:
    """Return the samplers without a suite parity/NAME.toml or removed/NAME.toml with sampler =
    NAME."""
    declared = {p.stem: s.sampler for p, s in suites.items() if p.parent.name in OF_SAMPLERS}
    return [
        f"sampler {name}: no suite parity/{name}.toml with sampler = {name!r}"
        for name in SAMPLERS
        if declared.get(name) != name
    ]


def exact_cases(paths: Sequence[Path]) -> Counter[tuple[str, ...]]:
    """Return how many quick cases of a sampler's suite decide exactly: by (sampler, operation,
    side). Only literals and equal logits can."""
    counts: Counter[tuple[str, ...]] = Counter()
    for path in paths:
        if path.parent.name != "parity" or path.stem not in EXACT:
            continue
        try:
            cases = list(expand(read_suite(path), "quick", few_random=True))
        except InputError:
            continue  # lint reports it
        for case in cases:
            if isinstance(case, StagesCase) and (
                isinstance(case.logits, Literals) or getattr(case.logits, "family", "") == "equal"
            ):
                counts.update(
                    decision for decision in exact_decisions(case) if decision[0] == path.stem
                )
    return counts


def exact_line(counts: Counter[tuple[str, ...]]) -> str:
    """Return the counts below, at and above the threshold: `top_p sum 18/20/24`."""
    return ", ".join(
        f"{sampler} {operation} {'/'.join(str(counts[sampler, operation, s]) for s in sides)}"
        for sampler, operations in EXACT.items()
        for operation, sides in operations.items()
    )


def _without_exact(counts: Counter[tuple[str, ...]]) -> list[str]:
    return [
        f"sampler {sampler}: no quick case with an exact {operation} {side} the threshold"
        for sampler, operations in EXACT.items()
        for operation, sides in operations.items()
        for side in sides
        if not counts[sampler, operation, side]
    ]


def _fixture_names(suites: dict[Path, Suite]) -> list[str]:
    try:
        fixture_names = set(read_manifest(fixtures.golden_folder()))
    except InputError:
        return []  # _golden reports it
    problems = []
    for path, suite in suites.items():
        used = {c.logits.golden for c in suite.blocks("case") if isinstance(c.logits, Golden)}
        grids: list[Grid] = [*suite.blocks("matrix"), *suite.blocks("pairs")]
        used |= {grid.golden for grid in grids if grid.golden}
        unknown = sorted(used - fixture_names)
        problems += [
            f"{suite_id(path)}: fixture {name!r} is not in the manifest" for name in unknown
        ]
    return problems


def _cases(path: Path, suite: Suite) -> list[str]:
    return [
        f"{suite_id(path)}: case {case.id!r}: {problem}"
        for block in suite.blocks("case")
        for case in block.items(quick=False)
        if isinstance(case, GivenCase)
        for problem in _case(suite, case)
    ]


def _case(suite: Suite, case: GivenCase) -> Iterator[str]:
    """Yield the problems of an explicit case of a filter's suite."""
    if suite.sampler not in FILTERS:
        return
    stages = [stage for stage in _stages(case) if stage[0].name == suite.sampler]
    effective = any(_left(after) > 0 and _removes(before, after) for _, before, after in stages)
    noop = "noop" in case.tags
    if not effective and not noop:
        yield "removes nothing or keeps nothing - tag it noop or change it"
    if effective and noop:
        yield "is tagged noop but removes something - remove the tag"
    close = any(_on_threshold(sampler, before) for sampler, before, _ in stages)
    if close and not _float32_literals(case):
        yield (
            f"decides within {ROUNDING:.0e} of its threshold - give logits as float32 values,"
            " or move the threshold"
        )


def _stages(case: GivenCase) -> list[Stage]:
    """Return every stage of every step: the sampler, and the candidates before and after it."""
    prepared = prepare(case)
    chain, stages = prepared.build(), []
    for row in prepared.rows:
        cand = Candidates.from_logits(row)
        for sampler in chain.samplers:
            before = cand.copy()
            sampler.apply(cand)
            stages.append((sampler, before, cand.copy()))
        if 0 <= cand.selected < len(cand):
            chain.accept(int(cand.ids[cand.selected]))
    return stages


def _removes(before: Candidates, after: Candidates) -> bool:
    return len(after) < len(before) or _left(after) < _left(before)


def _left(cand: Candidates) -> int:
    """Return the number of candidates that are not masked."""
    return int((cand.logits != -np.inf).sum())


def _on_threshold(sampler: Sampler, before: Candidates) -> bool:
    """Return whether the candidates left change if the threshold moves by ROUNDING."""
    parameter = ROWS[sampler.name].threshold
    if not parameter:
        return False
    low, high = apply_around(before, sampler, parameter, ROUNDING)
    return set(low.ids[low.logits != -np.inf]) != set(high.ids[high.logits != -np.inf])


def _float32_literals(case: GivenCase) -> bool:
    """Return whether logits and parameters are each the shortest decimal of a float32."""
    if not isinstance(case.logits, Literals) or not case.logits.values:
        return False
    numbers = [
        v for stage in case.chain for parameters in stage.values() for v in parameters.values()
    ]
    numbers += case.logits.values
    return all(float(str(np.float32(v))) == v for v in numbers if isinstance(v, float))


def _explanations(path: Path) -> list[str]:
    try:
        read_explanations(path)
    except InputError as error:
        return [str(error)]
    return []


def _golden(folder: Path) -> list[str]:
    problems = []
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        return [str(error)]
    for name in manifest:
        try:
            fixtures.check(folder, name)
        except InputError as error:
            problems.append(str(error))
    listed = {entry.file for entry in manifest.values()}
    unlisted = [path.name for path in sorted(folder.glob("*.gguf")) if path.name not in listed]
    return problems + [f"{folder / name}: not in the manifest" for name in unlisted]


def _schemas() -> list[str]:
    path = Path(str(files("sampler_parity.harness"))) / "schemas" / "protocol.schema.json"
    if path.is_file() and path.read_text() == protocol_schema():
        return []
    return [
        f"{path}: not what the models make - write harness.protocol.schema.protocol_schema() to it"
    ]
