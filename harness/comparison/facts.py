"""The facts of machines and backends that may explain why bundles differ."""

from collections.abc import Callable, Iterator

from sampler_parity.harness.bundle.info import BackendInfo, MachineInfo, RunInfo
from sampler_parity.harness.comparison.records import Fact

_MACHINE: dict[str, Callable[[RunInfo], str]] = {
    "started": lambda info: info.started,
    "sampler-parity": lambda info: info.version,
    "its own files": lambda info: info.machine.code[:12],
    "profile and seed": lambda info: f"{info.profile}, {info.seed}",
    "processor": lambda info: f"{info.machine.cpu}, {info.machine.cores} logical cores",
    "architecture": lambda info: info.machine.machine,
    "system": lambda info: info.machine.system,
    "C library": lambda info: info.machine.libc,
    "math library": lambda info: info.machine.libm,
    "GPU driver": lambda info: info.machine.driver,
    "Python": lambda info: info.machine.python,
}
_BACKEND: dict[str, Callable[[BackendInfo], str]] = {
    "version": lambda info: info.version,
    "build": lambda info: info.build,
    "files": lambda info: info.digest[:12],
    "libraries": lambda info: ", ".join(f"{n} {d[:12]}" for n, d in sorted(info.libraries.items())),
    "device": lambda info: info.device,
    "sandbox": lambda info: "in one" if info.sandbox else "",
    "judged by": lambda info: info.reference,
}


def facts(columns: list[tuple[RunInfo, BackendInfo]]) -> Iterator[Fact]:
    """Yield facts by column, without those that are unknown everywhere."""
    for name, of_backend in _BACKEND.items():
        yield from _fact(name, [of_backend(backend) for _, backend in columns])
    for name, of_run in _MACHINE.items():
        yield from _fact(name, [of_run(info) for info, _ in columns])
    machines = [info.machine for info, _ in columns]
    yield from _fact("processor features", [_flags(machine, machines[0]) for machine in machines])
    for package in sorted({name for machine in machines for name in machine.packages}):
        versions = [machine.packages.get(package, "not installed") for machine in machines]
        yield from _fact(package, versions)


def _fact(name: str, values: list[str]) -> Iterator[Fact]:
    if any(values):
        yield Fact(name=name, values=values, differs=len(set(values)) > 1)


def _flags(machine: MachineInfo, base: MachineInfo) -> str:
    """Return the number of flags; if they differ from the first column's, the added and missing
    ones."""
    flags, first = set(machine.cpu_flags), set(base.cpu_flags)
    if flags == first:
        return f"{len(flags)} features"
    signs = [f"+{flag}" for flag in sorted(flags - first)]
    return " ".join([*signs, *(f"-{flag}" for flag in sorted(first - flags))])
