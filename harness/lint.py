"""What must hold of the suites beyond their format, of the golden fixtures and of the schemas.

suites    each expands; ids unique over all; descriptions are facts, none twice; `why` says
          something; every sampler has its suite
cases     an explicit case of a filter removes something and keeps something, or is tagged noop;
          one that decides within rounding of its threshold uses literals that are float32 values
fixtures  every one has the digest of the manifest, every file is listed, every name exists
schemas   the committed JSON Schema is the one that the models make
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from harness import fixtures
from harness.case import Case
from harness.errors import InputError
from harness.logits import Golden, Literals
from harness.manifest import read_manifest
from harness.reference_run import prepare
from harness.schema import protocol_schema
from harness.suite import Suite, expand, expand_cells, read_suite, suite_id
from harness.suite_distribution import KINDS
from harness.suite_matrix import Grid
from reference import SAMPLERS, Candidates
from reference.chain import Sampler
from reference.samplers.min_p import MinP
from reference.samplers.top_p import TopP

FILTERS = ("top_k", "top_p", "min_p", "typical_p", "xtc", "top_n_sigma")
GROUPS = ("parity", "distribution", "generate", "tsampler")
WITHOUT_SUITE = ("softmax", "tail_free")  # removed from llama.cpp before v0.5.0
ROUNDING = 1e-6  # a decision that is nearer to its threshold than this may fall either way

Stage = tuple[Sampler, Candidates, Candidates]


def lint(folder: Path) -> list[str]:
    """Problems of the suites in a folder, and of golden/ and harness/schemas/, one line each."""
    problems: list[str] = []
    suites: dict[Path, Suite] = {}
    ids: dict[str, list[str]] = defaultdict(list)
    for path in [p for group in GROUPS for p in sorted((folder / group).glob("*.toml"))]:
        try:
            suites[path] = read_suite(path)
            for case in expand(path, "full"):
                ids[case.id].append(suite_id(path))
            for cell in expand_cells(path, "full"):
                ids[cell.id].append(suite_id(path))
            problems += _cases(path, suites[path])
        except InputError as error:
            problems.append(str(error))
    problems += _fixture_names(suites)
    problems += _unique(ids)
    problems += _prose(suites)
    problems += _missing_suites(suites)
    return problems + _golden(fixtures.golden_folder()) + _schemas()


def _unique(ids: dict[str, list[str]]) -> list[str]:
    """ids: case id -> the suites that it is in."""
    return [f"id {i!r} is in {' and in '.join(at)}" for i, at in ids.items() if len(at) > 1]


def _blocks(suite: Suite) -> list[Any]:
    return [
        *suite.case,
        *suite.matrix,
        *suite.pairs,
        *suite.random_chains,
        *suite.fuzz,
        *suite.generate,
        *(block for kind in KINDS for block in getattr(suite, kind)),
    ]


def _prose(suites: dict[Path, Suite]) -> list[str]:
    problems, described = [], defaultdict(list)
    for path, suite in suites.items():
        for block in _blocks(suite):
            place = f"{suite_id(path)}: {block.id!r}"
            described[block.description.strip().lower()].append(place)
            if re.search(r"\bshould\b", block.description, re.IGNORECASE):
                problems.append(f"{place}: the description says 'should' - state a fact")
            if not block.description.strip():
                problems.append(f"{place}: the description is empty")
            if len(block.description) > 70:
                problems.append(f"{place}: the description is longer than 70 characters")
            if not block.why.strip():
                problems.append(f"{place}: why is empty - name the defect that it catches")
    return problems + [
        f"{places[0]}: the same description as {', '.join(places[1:])}"
        for places in described.values()
        if len(places) > 1
    ]


def _missing_suites(suites: dict[Path, Suite]) -> list[str]:
    """A sampler's suite is parity/NAME.toml and says sampler = NAME."""
    said = {path.stem: suite.sampler for path, suite in suites.items()}
    return [
        f"sampler {name}: no suite parity/{name}.toml with sampler = {name!r}"
        for name in SAMPLERS
        if name not in WITHOUT_SUITE and said.get(name) != name
    ]


def _fixture_names(suites: dict[Path, Suite]) -> list[str]:
    try:
        known = set(read_manifest(fixtures.golden_folder()))
    except InputError:
        return []  # _golden says so
    problems = []
    for path, suite in suites.items():
        named = {c.logits.golden for c in suite.case if isinstance(c.logits, Golden)}
        grids: list[Grid] = [*suite.matrix, *suite.pairs]
        named |= {grid.golden for grid in grids if grid.golden}
        unknown = sorted(named - known)
        problems += [
            f"{suite_id(path)}: fixture {name!r} is not in the manifest" for name in unknown
        ]
    return problems


def _cases(path: Path, suite: Suite) -> list[str]:
    return [
        f"{suite_id(path)}: case {case.id!r}: {problem}"
        for case in suite.case
        for problem in _case(suite, case)
    ]


def _case(suite: Suite, case: Case) -> Iterator[str]:
    """What is wrong with an explicit case of a filter's suite."""
    if suite.sampler not in FILTERS:
        return
    stages = [stage for stage in _stages(case) if stage[0].name == suite.sampler]
    effective = any(_left(after) > 0 and _removes(before, after) for _, before, after in stages)
    noop = "noop" in case.tags
    if not effective and not noop:
        yield "removes nothing or keeps nothing - tag it noop or change it"
    if effective and noop:
        yield "is tagged noop but removes something - remove the tag"
    margin = min((_margin(sampler, before) for sampler, before, _ in stages), default=np.inf)
    if margin < ROUNDING and not _float32_literals(case):
        yield (
            f"decides within {margin:.1e} of its threshold - give logits as float32 values,"
            " or move the threshold"
        )


def _stages(case: Case) -> list[Stage]:
    """Every stage of every step: the sampler, the candidates before it and those after it."""
    ready = prepare(case)
    chain, stages = ready.build(), []
    for row in ready.rows:
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
    """Candidates that are not masked."""
    return int((cand.logits != -np.inf).sum())


def _margin(sampler: Sampler, before: Candidates) -> float:
    """Distance of the closest decision of top_p or min_p to its threshold, in float64."""
    logits = np.sort(before.logits.astype(np.float64))[::-1]
    logits = logits[np.isfinite(logits)]
    if len(logits) == 0:
        return float("inf")
    if isinstance(sampler, TopP) and sampler.p < 1:
        p = np.exp(logits - logits[0])
        return float(abs(np.cumsum(p / p.sum()) - np.float64(sampler.p)).min())
    if isinstance(sampler, MinP) and sampler.p > 0:
        return float(abs(logits - logits[0] - np.log(np.float64(sampler.p))).min())
    return float("inf")


def _float32_literals(case: Case) -> bool:
    """Whether logits and parameters are written as the shortest decimal of a float32 each."""
    if not isinstance(case.logits, Literals) or not case.logits.values:
        return False
    numbers = [v for stage in case.chain for given in stage.values() for v in given.values()]
    numbers += case.logits.values
    return all(float(str(np.float32(v))) == v for v in numbers if isinstance(v, float))


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
    path = Path(str(files("harness"))) / "schemas" / "protocol.schema.json"
    if path.is_file() and path.read_text() == protocol_schema():
        return []
    return [f"{path}: not what the models make - write harness.schema.protocol_schema() to it"]
