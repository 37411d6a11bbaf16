"""A report of a failing case in the form that the project concerned asks for. Nothing is sent: a
person reads it, runs the program and decides."""

from dataclasses import dataclass

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.reference.registry import SAMPLERS

# The fields of the projects' forms for bugs, as their .github/ISSUE_TEMPLATE had them in 2026:
# llama.cpp 019-bug-misc.yml, transformers bug-report.yml, vLLM 400-bug-report.yml. MLX LM,
# ExLlamaV3 and lloyal.node have none.
_FORMS = {
    "llama.cpp": """\
# Misc. bug: {title}

### Name and Version

{version}{build}

### Operating systems

{platform}

### Which llama.cpp modules do you know to be affected?

libllama (core library)

### Command line

```shell
{command}
```

### Problem description & steps to reproduce

{description}

{steps}

### First Bad Commit

Not looked for.

### Relevant log output

{seen}
""",
    "transformers": """\
# {title}

### System Info

- {version}{build}
- {platform}

### Reproduction

{steps}

{seen}

### Expected behavior

{description}
""",
    "vllm": """\
# [Bug]: {title}

### Your current environment

- {version}{build}
- {platform}

### 🐛 Describe the bug

{description}

{steps}

{seen}
""",
}
_PLAIN = """\
# {title}

### Version and platform

{version}{build}, {platform}

### Steps to reproduce

{steps}

### Expected

{description}

### Got

{seen}
"""


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


def report(engine: str, finding: Finding, source: str, file: str, command: str) -> str:
    """engine: whose form it has; one that is not known gets a plain one."""
    result = finding.result
    language = {"cpp": "cpp", "py": "python", "mjs": "javascript"}[file.rpartition(".")[2]]
    steps = (
        f"Save this as `{file}` and run `{command}`. It exits with 1 while the difference is"
        " there.\n\n"
        f"```{language}\n{source}```"
    )
    values = ", ".join(f"{name}: {value}" for name, value in result.values.items())
    return _FORMS.get(engine, _PLAIN).format(
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
    return f"its documentation and source say of these parameters ({stage})"
