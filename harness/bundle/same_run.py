"""Check that `--resume` continues the run that was begun: a bundle holds one configuration.

Fields that a bundle of an older version lacks are not compared.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.bundle.made_of import described, first_change
from sampler_parity.harness.errors import InputError

_REDO = "run again without --resume, to another -o"
# what a backend reports of itself
_SELF_REPORT = ("name", "version", "build", "device", "capabilities")


def refuse_another(
    folder: Path, old: RunInfo, new: RunInfo, inside: Callable[[Path], str] = lambda folder: ""
) -> None:
    """Raise InputError, which names the first change and the fix, if it is another run. inside: as
    in `described`."""
    for problem, fix in _changes(old, new, inside):
        raise InputError(folder, problem, fix)


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))


def _changes(
    old: RunInfo, new: RunInfo, inside: Callable[[Path], str]
) -> Iterator[tuple[str, str]]:
    """Yield what has changed, each with what to do."""
    for key in ("version", "profile", "seed"):
        then, now = getattr(old, key), getattr(new, key)
        if then != now:
            yield f"was made with another {key}: {then}, and not {now}", _REDO
    if suites := differing(old.suites, new.suites):
        yield f"was made with other suites: {', '.join(suites)} changed", _REDO
    if old.only != new.only:
        yield f"was limited to other cases: {' '.join(old.only) or 'to none'}", _REDO
    for option in sorted(old.options):
        if old.options[option] != new.options.get(option):
            then, now = old.options[option], new.options.get(option)
            yield f"was made with --{option} {then}, and not {now}", f"use --{option} {then}"
    if old.backends.keys() != new.backends.keys():
        yield f"was made with backends {', '.join(old.backends)}", _REDO
        return
    for name, backend in old.backends.items():
        yield from _backend_changes(name, backend, new.backends[name], inside)
    configuration = new.machine.configuration()
    for key, then in old.machine.configuration().items():
        if then and then != configuration[key]:
            yield f"was made with another {_words(key, then, configuration[key])}", _REDO


def _backend_changes(
    name: str, old: BackendInfo, new: BackendInfo, inside: Callable[[Path], str]
) -> Iterator[tuple[str, str]]:
    if new.reference != old.reference:
        yield f"judged {name} by {old.reference}", f"use --reference {old.reference}"
    if new.sandbox != old.sandbox:
        how, fix = ("in", "use") if old.sandbox else ("without", "leave out")
        yield f"ran {name} {how} a sandbox", f"{fix} --sandbox"
    if new.unavailable and not old.unavailable:
        yield f"{name} ran then, and does not run here now: {new.unavailable}", "make it run"
    if old.unavailable and not new.unavailable:
        yield f"{name} did not run here then, and now does", _REDO
    if old.unavailable:
        return
    if _command(old) != _command(new):
        yield f"ran another command as {name}: {' '.join(old.command)}", _REDO
    for file in differing(old.libraries, new.libraries) if old.libraries else []:
        then, now = (b.libraries.get(file, "none")[:12] for b in (old, new))
        yield f"{name} has another {file}: sha256 {then} then, {now} now", _REDO
    if old.files and (change := first_change(old.files, new.files, new.command)):
        where, digests = described(*change, inside)
        yield f"{name} has another {where}: {digests}", f"put it back, or {_REDO}"
    for field in _SELF_REPORT:
        then, now = getattr(old, field), getattr(new, field)
        if then != now:
            yield f"{name} has another {field}: {then or 'none'} then, {now or 'none'} now", _REDO


def _command(backend: BackendInfo) -> list[str]:
    """Return the command without the program where it is a Python of ours, which has several
    names."""
    first, *rest = backend.command or [""]
    return rest if rest[:1] == ["-m"] else [first, *rest]


def _words(key: str, then: Any, now: Any) -> str:
    if isinstance(then, dict):
        names = differing(then, now)
        changes = (f"{name} {then.get(name)}, and not {now.get(name)}" for name in names)
        return f"version of a package: {'; '.join(changes)}"
    if isinstance(then, list):
        return f"{key}: {' '.join(sorted({*then} ^ {*now}))}"
    return f"{key}: {then}, and not {now}"
