"""Suites: TOML files that say what is checked, and their expansion into cases.

`docs/suites.md` describes the format. Everything wrong with a file is an InputError that names the
file, the block and the field.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.distribution.block import KINDS, Cell
from sampler_parity.harness.checks.skip_ratio.block import Workload
from sampler_parity.harness.checks.throughput.block import Width, WidthGrid
from sampler_parity.harness.checks.timing.block import TimedChain, TimedGrid
from sampler_parity.harness.errors import InputError, lacking, lacks, need
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.sanitize.printable import cut
from sampler_parity.harness.suite.model import Suite, explain, reason_of
from sampler_parity.harness.suite.shipped import shipped
from sampler_parity.harness.suite.shipped import suite_id as suite_id
from sampler_parity.harness.suite.shipped import suites_folder as suites_folder
from sampler_parity.harness.suite.validation import Checked

Profile = Literal["quick", "full"]
T = TypeVar("T")

_FEW = 3  # of each random block, where a few will do


@dataclass(frozen=True)
class SuiteFile:
    """A suite as its file was when it was read, once. sha256: of the file."""

    path: Path
    suite: Suite
    sha256: str


def is_shipped(path: Path) -> bool:
    """Whether it is one of ours, which its name finds from any folder."""
    return path.resolve() in {suite.resolve() for suite in shipped().values()}


def find_suites(names: list[str]) -> list[Path]:
    """The files of suites named as "parity", "parity/top_p" or by path, each once, in order.

    Raises InputError for a name that is neither a suite, a folder of suites nor a file.
    """
    paths = [path for name in names for path in _find(name)]
    return list(dict.fromkeys(paths))


def _find(name: str) -> list[Path]:
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise InputError(name, "no such suite file")
        return [Path(name)]
    suites = shipped()
    if name in suites:
        return [suites[name]]
    if of_group := [path for suite, path in suites.items() if suite.startswith(f"{name}/")]:
        return of_group
    groups = sorted({suite.partition("/")[0] for suite in suites})
    exist = f"there are: {', '.join([*groups, *suites])}; or give the path of a TOML file"
    raise InputError(name, "no such suite", meant(name) or exist)


def meant(name: str) -> str:
    """The suites that a name that is none may stand for; `top_p` for parity/top_p, too."""
    names = {suite.partition("/")[2]: suite for suite in reversed(shipped())}
    groups = {suite.partition("/")[0] for suite in shipped()}
    return did_you_mean(name, [*groups, *shipped()], names)


def read_suite(path: Path) -> SuiteFile:
    """Raises InputError for a file that is not readable, no TOML, or not a suite."""
    content = read_file(path, limits.TOML)
    data = toml_of(path, content)
    try:
        return SuiteFile(path, Suite.model_validate(data), hashlib.sha256(content).hexdigest())
    except ValidationError as error:
        raise InputError(path, *explain(error, data)) from None


def lacking_extra(file: SuiteFile) -> str:
    """What to say of a suite whose cases an extra makes that is not installed; "" of others."""
    return lacking("fuzz") if file.suite.fuzz and lacks("fuzz") else ""


def expand(
    file: SuiteFile | Path, profile: Profile, seed: int = 0, few_random: bool = False
) -> list[Case]:
    """The cases of a suite in this profile, in the order of the file. Raises InputError.

    seed is added to those of random blocks; everything else is the same in every run. few_random:
    a few of each random block, for who reads the suites without running them.
    """
    read = read_suite(file) if isinstance(file, Path) else file
    quick, checked = profile == "quick", Checked(read.path)
    cases: dict[str, Case] = {}
    for place, short in _all_cases(read, quick, few_random, seed):
        case = short.model_copy(update={"id": f"{read.path.stem}/{short.id}"})
        _add(read.path, place, cases, case.id, case)
        checked.case(place, case)
    return list(cases.values())


def expand_cells(file: SuiteFile, profile: Profile) -> list[Cell]:
    """The distribution tests of a suite in this profile. Raises InputError."""
    cells: dict[str, Cell] = {}
    for kind in KINDS:
        for block in getattr(file.suite, kind):
            if profile == "quick" and not block.quick:
                continue
            cell = block.model_copy(update={"id": f"{file.path.stem}/{block.id}"})
            place = f"{kind} {block.id!r}"
            _add(file.path, place, cells, cell.id, cell)
            Checked(file.path).cell(place, cell)
    return list(cells.values())


def expand_workloads(file: SuiteFile, profile: Profile) -> list[Workload]:
    """The skip-ratio measurements of a suite in this profile. Raises InputError."""
    workloads: dict[str, Workload] = {}
    for block in file.suite.skip_ratio:
        place = f"skip_ratio {block.id!r}"
        with _placed(file.path, place):
            for short in block.workloads(profile == "quick"):
                workload = short.model_copy(update={"id": f"{file.path.stem}/{short.id}"})
                _add(file.path, place, workloads, workload.id, workload)
    return list(workloads.values())


def expand_timings(file: SuiteFile, profile: Profile) -> list[TimedChain]:
    """The chains that a suite times in this profile. Raises InputError."""
    quick, checked = profile == "quick", Checked(file.path)
    timings: dict[str, TimedChain] = {}
    for chain in file.suite.chain:
        if chain.quick or not quick:
            _add(file.path, f"chain {chain.id!r}", timings, chain.id, chain)
    for grid in file.suite.grid:
        if isinstance(grid, TimedGrid):
            place = f"grid {grid.id!r}"
            with _placed(file.path, place):
                for chain in grid.chains(file.suite.sizes, quick):
                    _add(file.path, place, timings, chain.id, chain)
    for chain in timings.values():
        checked.timed(f"chain {chain.id!r}", chain)
    return list(timings.values())


def expand_widths(file: SuiteFile, profile: Profile) -> list[Width]:
    """What a suite decodes for tokens a second in this profile. Raises InputError."""
    checked = Checked(file.path)
    widths: dict[str, Width] = {}
    for grid in file.suite.grid:
        if isinstance(grid, WidthGrid):
            place = f"grid {grid.id!r}"
            with _placed(file.path, place):
                for width in grid.widths(file.suite.chains, profile == "quick"):
                    _add(file.path, place, widths, width.id, width)
                    checked.width(place, width)
    return list(widths.values())


def _all_cases(
    file: SuiteFile, quick: bool, few_random: bool, seed: int
) -> Iterator[tuple[str, Case]]:
    """Where each case stands in the file, and the case with its id there."""
    suite = file.suite
    for explicit in suite.case:
        if explicit.quick or not quick:
            yield f"case {explicit.id!r}", explicit.plain()
    drawn = {"quick": quick or few_random, "shift": seed}
    blocks: list[tuple[str, Any, dict[str, Any]]] = [
        *(("matrix", block, {}) for block in suite.matrix),
        *(("pairs", block, {}) for block in suite.pairs),
        *(("ladder", block, {}) for block in suite.ladder),
        *(("twins", block, {}) for block in suite.twins),
        *(("random_chains", block, drawn) for block in suite.random_chains),
        *(("fuzz", block, drawn) for block in suite.fuzz),
        *(("decode", block, {}) for block in suite.decode),
        *(("generate", block, {"shared": suite.chains}) for block in suite.generate),
        *(("sequences", block, {"shared": suite.chains}) for block in suite.sequences),
        *(("invariance", block, {}) for block in suite.invariance),
        *(("grammar", block, {}) for block in suite.grammar),
        *(("random_grammars", block, drawn) for block in suite.random_grammars),
        *(("random_tries", block, drawn) for block in suite.random_tries),
        *(("random_breakers", block, drawn) for block in suite.random_breakers),
        *(("batch", block, {}) for block in suite.batch),
    ]
    for kind, block, options in blocks:
        place = f"{kind} {block.id!r}"
        if kind == "fuzz":
            need("fuzz", f"{file.path}: {place}")
        if few_random and options is drawn:
            block = block.model_copy(update={"quick": min(block.count, _FEW)})
        if few_random and kind == "batch":
            block = block.model_copy(update={"seeds": block.seeds[:1]})
        if few_random and kind == "grammar":
            block = block.model_copy(update={"walks": min(block.walks, 1)})
        with _placed(file.path, place):
            for case in block.cases(**{"quick": quick} | options):
                yield place, case


@contextmanager
def _placed(path: Path, place: str) -> Iterator[None]:
    """What is wrong in a block is said with its file and place."""
    try:
        yield
    except ValidationError as error:
        raise InputError(path, f"{place}: {reason_of(error).reason}") from None
    except ValueError as error:
        raise InputError(path, f"{place}: {error}") from None


def _add(path: Path, place: str, items: dict[str, T], name: str, item: T) -> None:
    if len(name) > limits.ID:
        problem = f"{place}: the id {cut(name, 40)!r} has {len(name):,} characters"
        raise InputError(path, problem, f"use {limits.ID} at most")
    if len(items) >= limits.CASES:
        raise InputError(path, f"{place}: over {limits.CASES:,} cases in one file", "split it")
    if name in items:
        raise InputError(path, f"{place}: duplicate id {name!r}", "give every block its own")
    items[name] = item
