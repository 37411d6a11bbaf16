"""A report of a failing case in the form that the engine's project asks for. Nothing is sent: a
person reads it, runs the program and decides."""

from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.maintenance.repro.scripts import scripted
from sampler_parity.reference.registry import SAMPLERS

_FORMS = Path(__file__).with_name("forms")


@dataclass(frozen=True)
class Finding:
    """version, build: of the engine; reference: the release that it is judged by; platform: where
    it was seen."""

    case: Case
    result: BackendResult
    version: str
    build: str
    reference: str
    platform: str


def _form(engine: str) -> str:
    """Return the fields of the project's form for bugs, as its .github/ISSUE_TEMPLATE had them in
    2026: llama.cpp's 019-bug-misc.yml, an engine's issue.txt. Without one, a plain one."""
    if engine == "llama.cpp":
        return (_FORMS / "llama.cpp.txt").read_text(encoding="utf-8")
    template = engines_folder() / scripted().get(engine, engine) / "issue.txt"
    return (template if template.is_file() else _FORMS / "plain.txt").read_text(encoding="utf-8")


def report(engine: str, finding: Finding, source: str, file: str, command: str) -> str:
    """Format a report. engine: whose form it has; an unknown one gets a plain form."""
    result = finding.result
    language = {"cpp": "cpp", "py": "python", "mjs": "javascript"}[file.rpartition(".")[2]]
    steps = (
        f"Save this as `{file}` and run `{command}`. It exits with 1 while the difference is"
        " there.\n\n"
        f"```{language}\n{source}```"
    )
    values = ", ".join(f"{name}: {value}" for name, value in result.values.items())
    return _form(engine).format(
        title=f"{result.stage}: {finding.case.description}",
        version=finding.version,
        build=f" ({finding.build})" if finding.build else "",
        platform=finding.platform,
        command=command,
        description=(
            f"Behind {result.stage} this row of logits is expected to leave what {_whose(finding)};"
            f" the program has both. It differs in {result.what or 'the result'}."
        ),
        steps=steps,
        seen=f"First difference: {values}" if values else "The program prints expected and got.",
    )


def _whose(finding: Finding) -> str:
    stage = finding.result.stage
    if stage in SAMPLERS:
        return f"{stage} of llama.cpp {finding.reference} leaves with the same parameters"
    return f"its documentation and source define for these parameters ({stage})"
