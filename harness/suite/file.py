"""Suites: TOML files that say what is checked, and their expansion into cases.

`docs/suites.md` describes the format. Everything wrong with a file is an InputError that names the
file, the block and the field.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.logits import Computed, Decoded
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.suite.blocks.decode import Decodings
from sampler_parity.harness.suite.blocks.distribution import (
    KINDS,
    Cell,
    Coupled,
    Frequency,
    Independence,
    Injected,
    Tail,
)
from sampler_parity.harness.suite.blocks.fuzz import Fuzz
from sampler_parity.harness.suite.blocks.generate import Generations
from sampler_parity.harness.suite.blocks.grammar import Grammars, RandomGrammars
from sampler_parity.harness.suite.blocks.matrix import Matrix, Pairs
from sampler_parity.harness.suite.blocks.random_chains import RandomChains
from sampler_parity.harness.suite.blocks.skip_ratio import SkipRatios, Workload
from sampler_parity.harness.suite.blocks.trie import RandomTries
from sampler_parity.harness.suite.case import Case
from sampler_parity.reference import ChainError, build_chain

Profile = Literal["quick", "full"]

_BLOCKS = (
    *("case", "matrix", "pairs", "random_chains", "fuzz", "decode", "generate", "grammar"),
    *("random_grammars", "random_tries", "skip_ratio", *KINDS),
)


class SuiteCase(Case):
    """An explicit case; quick = false leaves it to the full profile."""

    quick: bool = True

    def plain(self) -> Case:
        return Case(**{name: getattr(self, name) for name in Case.model_fields})


class Suite(BaseModel):
    """A suite file. sampler: the sampler that it is about, where it is about one.

    chains: by name, for every block of generate that has none of its own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    sampler: str | None = None
    case: list[SuiteCase] = []
    matrix: list[Matrix] = []
    pairs: list[Pairs] = []
    random_chains: list[RandomChains] = []
    fuzz: list[Fuzz] = []
    decode: list[Decodings] = []
    generate: list[Generations] = []
    frequency: list[Frequency] = []
    coupled: list[Coupled] = []
    tail: list[Tail] = []
    independence: list[Independence] = []
    injected: list[Injected] = []
    grammar: list[Grammars] = []
    random_grammars: list[RandomGrammars] = []
    random_tries: list[RandomTries] = []
    skip_ratio: list[SkipRatios] = []
    chains: dict[str, ChainSpec] = {}


@dataclass(frozen=True)
class SuiteFile:
    """A suite as its file was when it was read, once. sha256: of the file."""

    path: Path
    suite: Suite
    sha256: str


def suites_folder() -> Path:
    """The folder `suites/` of the checkout or of the installed wheel."""
    return Path(str(files("sampler_parity.suites")))


def find_suites(names: list[str]) -> list[Path]:
    """The files of suites named as "parity", "parity/top_p" or by path, each once, in order.

    Raises InputError for a name that is neither a suite, a folder of suites nor a file.
    """
    found = [path for name in names for path in _find(name)]
    return list(dict.fromkeys(found))


def _find(name: str) -> list[Path]:
    folder = suites_folder()
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise InputError(name, "no such suite file")
        return [Path(name)]
    if (folder / name).is_dir():
        paths = sorted((folder / name).glob("*.toml"))
        if paths:
            return paths
    if (folder / f"{name}.toml").is_file():
        return [folder / f"{name}.toml"]
    known = sorted(folder.glob("*/*.toml"))
    groups = sorted({path.parent.name for path in known})
    exist = ", ".join([*groups, *(suite_id(path) for path in known)])
    raise InputError(name, "no such suite", f"there are: {exist}; or give the path of a TOML file")


def suite_id(path: Path) -> str:
    """ "parity/top_p" for suites/parity/top_p.toml."""
    return f"{path.resolve().parent.name}/{path.stem}"


def read_suite(path: Path) -> SuiteFile:
    """Raises InputError for a file that is not readable, no TOML, or not a suite."""
    try:
        content = path.read_bytes()
        data = tomllib.loads(content.decode())
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(path, f"not TOML: {error}", "mend the syntax there") from None
    try:
        return SuiteFile(path, Suite.model_validate(data), hashlib.sha256(content).hexdigest())
    except ValidationError as error:
        raise InputError(path, *explain(error, data)) from None


def expand(
    file: SuiteFile | Path, profile: Profile, seed: int = 0, few_random: bool = False
) -> list[Case]:
    """The cases of a suite in this profile, in the order of the file. Raises InputError.

    seed is added to those of random blocks; everything else is the same in every run. few_random:
    of random blocks only what the quick profile has, for who reads the suites without running them.
    """
    read = read_suite(file) if isinstance(file, Path) else file
    path, suite = read.path, read.suite
    cases: dict[str, Case] = {}
    checked: set[str] = set()
    quick = profile == "quick"
    for place, case in _all_cases(path, suite, quick, quick or few_random, seed):
        if case.id in cases:
            raise InputError(path, f"{place}: duplicate id {case.id!r}", "give every block its own")
        _check(path, place, case, checked)
        cases[case.id] = case
    return list(cases.values())


def expand_cells(file: SuiteFile, profile: Profile) -> list[Cell]:
    """The distribution tests of a suite in this profile. Raises InputError."""
    path, suite = file.path, file.suite
    cells: dict[str, Cell] = {}
    for kind in KINDS:
        for block in getattr(suite, kind):
            if profile == "quick" and not block.quick:
                continue
            cell = block.model_copy(update={"id": f"{path.stem}/{block.id}"})
            place = f"{kind} {block.id!r}"
            if cell.id in cells:
                problem = f"{place}: duplicate id {cell.id!r}"
                raise InputError(path, problem, "give every block its own")
            chains = [("chain", cell.chain), *([("law", cell.law)] if cell.law else [])]
            _check_chains(path, place, cell.case(), chains, new=True)
            cells[cell.id] = cell
    return list(cells.values())


def expand_workloads(file: SuiteFile, profile: Profile) -> list[Workload]:
    """The skip-ratio measurements of a suite in this profile. Raises InputError."""
    path = file.path
    found: dict[str, Workload] = {}
    for block in file.suite.skip_ratio:
        place = f"skip_ratio {block.id!r}"
        try:
            for workload in block.workloads(profile == "quick"):
                full = workload.model_copy(update={"id": f"{path.stem}/{workload.id}"})
                if full.id in found:
                    raise ValueError(f"duplicate id {full.id!r}")
                found[full.id] = full
        except ValueError as error:
            raise InputError(path, f"{place}: {error}") from None
    return list(found.values())


def _all_cases(
    path: Path, suite: Suite, quick: bool, few_random: bool, seed: int
) -> Iterator[tuple[str, Case]]:
    """Where each case stands in the file, and the case with its full id."""
    for explicit in suite.case:
        if explicit.quick or not quick:
            yield f"case {explicit.id!r}", _prefixed(path, explicit.plain())
    drawn = {"quick": few_random, "shift": seed}
    blocks: list[tuple[str, Any, dict[str, Any]]] = [
        *(("matrix", block, {}) for block in suite.matrix),
        *(("pairs", block, {}) for block in suite.pairs),
        *(("random_chains", block, drawn) for block in suite.random_chains),
        *(("fuzz", block, drawn) for block in suite.fuzz),
        *(("decode", block, {}) for block in suite.decode),
        *(("generate", block, {"shared": suite.chains}) for block in suite.generate),
        *(("grammar", block, {}) for block in suite.grammar),
        *(("random_grammars", block, drawn) for block in suite.random_grammars),
        *(("random_tries", block, drawn) for block in suite.random_tries),
    ]
    for kind, block, options in blocks:
        place = f"{kind} {block.id!r}"
        try:
            for case in block.cases(**{"quick": quick} | options):
                yield place, _prefixed(path, case)
        except ValidationError as error:
            raise InputError(path, f"{place}: {_first(error)[1]}") from None
        except ValueError as error:
            raise InputError(path, f"{place}: {error}") from None


def _prefixed(path: Path, case: Case) -> Case:
    return case.model_copy(update={"id": f"{path.stem}/{case.id}"})


def _check(path: Path, place: str, case: Case, checked: set[str]) -> None:
    """Build each distinct chain once, so that a bad parameter is found before anything runs."""
    chains = [("chain", case.chain)]
    if case.relation is not None and case.relation.kind != "permuted":
        chains.append(("relation.chain", case.relation.chain))
    key = str((chains, case.vocab))
    if key not in checked or case.vocab is not None or isinstance(case.logits, Decoded):
        _check_chains(path, place, case, chains, new=key not in checked)
        checked.add(key)


def _check_chains(
    path: Path, place: str, case: Case, chains: list[tuple[str, ChainSpec]], new: bool
) -> None:
    vocab = read_vocab(vocab_path(case.vocab)) if case.vocab else None
    n = case.logits.n
    if isinstance(case.logits, Decoded):
        vocab = read_vocab(model_path(case.logits.decoded))
    if isinstance(case.logits, Decoded | Computed):
        foreign = [token for token in case.logits.prompt if token >= n]
        if foreign:
            problem = f"{place}: prompt: token {foreign[0]} is not in the model's {n} tokens"
            raise InputError(path, problem, "take the prompt from this model's vocabulary")
    if vocab is not None and n > len(vocab):
        problem = f"{place}: logits: {n} are more than the {len(vocab)} tokens of {case.vocab!r}"
        raise InputError(path, problem, "use fewer")
    for field, chain in chains if new else []:
        try:
            build_chain(chain, n_vocab=n, vocab=vocab)
        except ChainError as error:
            raise InputError(path, f"{place}: {field}: {error}") from None


def explain(error: ValidationError, data: dict[str, Any]) -> tuple[str, str]:
    """Problem and mend of the first thing that is wrong: block with its id, field, reason."""
    location, reason, mend = _first(error)
    place = [str(part) for part in location]
    if len(location) >= 2 and location[0] in _BLOCKS and isinstance(location[1], int):
        block = data[location[0]][location[1]]
        name = block.get("id") if isinstance(block, dict) else None
        shown = repr(name) if name else f"number {location[1] + 1}"
        place = [f"{location[0]} {shown}", ".".join(str(part) for part in location[2:])]
    return f"{': '.join(part for part in place if part)}: {reason}", mend


def _first(error: ValidationError) -> tuple[tuple[int | str, ...], str, str]:
    """Location, reason and mend of the error to show.

    Of a union (logits) every member complains; what is not about keys says most.
    """
    errors = error.errors(include_url=False)
    about_keys = ("extra_forbidden", "missing")
    chosen = next((e for e in errors if e["type"] not in about_keys), errors[0])
    reason = chosen["msg"].removeprefix("Value error, ")
    mend = {
        "extra_forbidden": "remove it or correct its name",
        "missing": "add it",
        "string_too_long": "shorten it",
    }.get(chosen["type"], "")
    if "logits" in chosen["loc"] and chosen["type"] in about_keys:
        reason = "must be {values}, {probs}, {family, n, seed}, {log_of_id} or {golden, row}"
        mend = ""
    return chosen["loc"], reason, mend
