"""`sampler-parity golden`: verify the fixtures of a folder, or make them again.

verify reads and checks everything and changes nothing. regenerate makes every fixture again in
another folder, from the model, the prompts and the chains, and reports the differences.
`accept=True` also replaces the fixtures and their entries in the manifest.
"""

import shutil
from dataclasses import asdict
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.fixtures import (
    Fixture,
    LogitsEntry,
    ResultsEntry,
    manifest_of,
    read_manifest,
    register,
)
from sampler_parity.maintenance.golden import recorded
from sampler_parity.maintenance.golden.capture import (
    digest_of_model,
    entry_of,
    read_prompts,
    relative,
)
from sampler_parity.maintenance.golden.configuration import FixtureConfiguration, configuration
from sampler_parity.maintenance.golden.job import Job, run

AnyEntry = LogitsEntry | ResultsEntry
Array = NDArray[np.generic]


def verify(folder: Path | None = None) -> list[str]:
    """Return one line per fixture that is in order. Raises InputError at the first that is not.

    The checks: the digest, and the file's own. Shape, type and NaN. File and manifest agree on the
    origin. The digests of the model and the prompts. The reference agrees with recorded results.
    The manifest lists every fixture of the folder.
    """
    folder = folder or fixtures.golden_folder()
    manifest = read_manifest(folder)
    listed = {entry.file for entry in manifest.values()}
    for path in sorted(folder.glob("*.gguf")):
        if path.name not in listed:
            fix = "capture it again, or delete it"
            raise InputError(path, "not listed in manifest.toml", fix)
    return [_verify_one(folder, name, entry) for name, entry in manifest.items()]


def _verify_one(folder: Path, name: str, entry: AnyEntry) -> str:
    path = fixtures.check(folder, name)
    fixture = fixtures.read(path)
    expected = {"model_sha256": entry.model_sha256, "llama_cpp": entry.llama_cpp}
    expected |= {"kind": entry.kind, "command": entry.command}
    for key, value in expected.items():
        if fixture.facts.get(key) != value:
            problem = f"has {key} {fixture.facts.get(key)!r}, the manifest has {value!r}"
            raise InputError(path, problem, "run `sampler-parity golden regenerate`")
    _same_file(folder / entry.model, entry.model_sha256, path)
    if isinstance(entry, LogitsEntry):
        _same_file(folder / entry.prompts, entry.prompts_sha256, path)
        return f"{name}: {_verify_logits(path, fixture, entry)}"
    return f"{name}: {_verify_results(folder, path, fixture, entry)}"


def _same_file(path: Path, sha256: str, new: Path) -> None:
    if not path.is_file():
        raise InputError(path, f"missing: {new.name} was made with it", "restore it")
    if sha256_of(path) != sha256:
        fix = "restore it, or run `sampler-parity golden regenerate` and review the difference"
        raise InputError(path, f"is not the file that {new.name} was made with", fix)


def _verify_logits(path: Path, fixture: Fixture, entry: LogitsEntry) -> str:
    rows = fixtures.logits_of(path, fixture)
    shape = f"{rows.dtype}{list(rows.shape)}"
    expected = f"{entry.dtype}[{entry.rows}, {entry.n_vocab}]"
    if shape != expected:
        fix = "run `sampler-parity golden regenerate`"
        raise InputError(path, f"`logits` is {shape}, the manifest has {expected}", fix)
    return f"{entry.rows} rows of {entry.n_vocab} logits, {entry.dtype}"


def _verify_results(folder: Path, path: Path, fixture: Fixture, entry: ResultsEntry) -> str:
    disagreements = _against_reference(folder, path, fixture, entry)
    if disagreements:
        fix = "see docs/background/golden.md, `When verify fails`"
        raise InputError(path, str(disagreements[0]), fix)
    n_chains, n_steps = len(fixture.facts["chains"]), len(fixture.tensors["rows"])
    if (n_chains, n_steps) != (entry.chains, entry.steps):
        expected = f"{entry.chains} of {entry.steps}"
        problem = f"has {n_chains} chains of {n_steps} steps, the manifest {expected}"
        raise InputError(path, problem, "run `sampler-parity golden regenerate`")
    return f"{n_chains} chains of {n_steps} steps, equal to the reference to the bit"


def _against_reference(
    folder: Path, path: Path, fixture: Fixture, entry: ResultsEntry
) -> list[recorded.Disagreement]:
    source = fixtures.check(folder, entry.logits)
    if sha256_of(source) != entry.logits_sha256:
        fix = "run `sampler-parity golden regenerate`"
        raise InputError(path, f"was recorded on other logits than those of {source.name}", fix)
    return recorded.compare(path, fixture, fixtures.read_logits(source), folder / entry.model)


def regenerate(folder: Path, out: Path, accept: bool = False) -> list[str]:
    """Make every fixture of the folder again in `out`; a line for each: equal, or the difference.

    Without a manifest the fixtures of this repository are made. accept: replace those that differ.
    Raises InputError if a fixture cannot be made.
    """
    if out.resolve() == folder.resolve():
        raise InputError(out, "is the folder of the fixtures", "name another folder, or accept")
    configured = configuration()
    out.mkdir(parents=True, exist_ok=True)
    has_manifest = (folder / "manifest.toml").exists()
    expected = read_manifest(folder) if has_manifest else _first_manifest(configured)
    lines = []
    # Results are recorded on logits, which must be made before them.
    logits_first = sorted(expected.items(), key=lambda item: isinstance(item[1], ResultsEntry))
    for name, old in logits_first:
        if isinstance(old, LogitsEntry):
            new: AnyEntry = _capture_again(folder, out, old, configured)
        else:
            source = out if accept or not has_manifest else folder
            new = _record_again(folder, out, old, source / expected[old.logits].file, configured)
        same, line = _difference(folder / old.file, out / old.file, old, configured)
        lines.append(f"{name}: {line}")
        if accept:
            _accept(folder, out, name, new, old if same else None)
    return lines


def _accept(folder: Path, out: Path, name: str, new: AnyEntry, same_as: AnyEntry | None) -> None:
    """Put the new file in place; the same bytes keep the record of where and when."""
    part = folder / (new.file + ".part")
    shutil.copyfile(out / new.file, part)
    part.replace(folder / new.file)
    if same_as is not None:
        same = [*FixtureConfiguration.__dataclass_fields__, "date"]
        new = new.model_copy(update={key: getattr(same_as, key) for key in same})
    register(folder, name, new)


def _first_manifest(configured: FixtureConfiguration) -> dict[str, AnyEntry]:
    """Return the manifest of this repository's golden/ before digests and sizes are known."""
    facts = {**asdict(configured), "date": date.today()}
    return manifest_of(Path(__file__).with_name("first.toml"), facts)


def _capture_again(
    folder: Path, out: Path, old: LogitsEntry, configured: FixtureConfiguration
) -> LogitsEntry:
    model, prompts = folder / old.model, folder / old.prompts
    job = Job(
        model=model,
        model_sha256=digest_of_model(model),
        prompts=read_prompts(prompts),
        prompts_sha256=sha256_of(prompts),
        out=out / old.file,
        dtype=old.dtype,
        max_rows=old.max_rows,
        threads=old.threads,
        command=old.command,
        llama_cpp=configured.llama_cpp,
    )
    run(job)
    return entry_of(job, prompts, configured).model_copy(
        update={"model": old.model, "prompts": old.prompts}
    )


def _record_again(
    folder: Path, out: Path, old: ResultsEntry, logits: Path, configured: FixtureConfiguration
) -> ResultsEntry:
    model = folder / old.model
    facts, tensors = recorded.record(fixtures.read_logits(logits), model)
    path = out / old.file
    about = {
        "kind": "native-results",
        "model_sha256": digest_of_model(model),
        "logits_sha256": sha256_of(logits),
        "llama_cpp": configured.llama_cpp,
        "command": old.command,
    }
    fixtures.write(path, about | facts, tensors)
    return ResultsEntry(
        kind="native-results",
        file=old.file,
        sha256=sha256_of(path),
        command=old.command,
        model=relative(model, folder),
        model_sha256=digest_of_model(model),
        logits=old.logits,
        logits_sha256=sha256_of(logits),
        chains=len(facts["chains"]),
        steps=len(tensors["rows"]),
        date=date.today(),
        **asdict(configured),
    )


def _difference(
    old: Path, new: Path, entry: AnyEntry, configured: FixtureConfiguration
) -> tuple[bool, str]:
    """Return whether the two files are equal, and the difference in words."""
    current = fixtures.read(new)
    if not old.is_file():
        return False, f"new, {_size(current)}"
    if old.read_bytes() == new.read_bytes():
        return True, f"equal, {_size(current)}"
    try:
        was = fixtures.read(old)
    except InputError as error:
        return False, f"the old file is unusable ({error}); new, {_size(current)}"
    parts = [
        _facts_differ(was, current, key) for key in sorted(was.facts.keys() | current.facts.keys())
    ]
    parts += [
        _tensor_differs(name, was.tensors.get(name), current.tensors.get(name))
        for name in sorted(was.tensors.keys() | current.tensors.keys())
    ]
    parts += [
        f"{key} here {value!r}, recorded {getattr(entry, key)!r}"
        for key, value in asdict(configured).items()
        if value != getattr(entry, key)
    ] or ["the same configuration"]
    return False, "differs: " + "; ".join(part for part in parts if part)


def _size(fixture: Fixture) -> str:
    if "logits" in fixture.tensors:
        rows, n_vocab = fixture.tensors["logits"].shape
        return f"{rows} rows of {n_vocab} logits"
    return f"{len(fixture.facts['chains'])} chains of {len(fixture.tensors['rows'])} steps"


def _facts_differ(was: Fixture, current: Fixture, key: str) -> str:
    old, new = was.facts.get(key), current.facts.get(key)
    if old == new:
        return ""
    if isinstance(old, str) and isinstance(new, str) and len(old) < 80 and len(new) < 80:
        return f"{key} is {new}, was {old}"
    return f"{key} differs"


def _tensor_differs(name: str, old: Array | None, new: Array | None) -> str:
    if old is None or new is None:
        return f"{name} is {'missing' if new is None else 'new'}"
    if old.shape != new.shape or old.dtype != new.dtype:
        return f"{name} is {new.dtype}{list(new.shape)}, was {old.dtype}{list(old.shape)}"
    differs = old != new
    if not differs.any():
        return ""
    largest = np.abs(np.subtract(new[differs], old[differs], dtype=np.float64)).max()
    unit = "rows" if old.ndim == 2 else "values"
    n = differs.reshape(len(old), -1).any(axis=1).sum()
    return f"{name}: {n}/{len(old)} {unit} differ, by at most {largest:.3g}"
