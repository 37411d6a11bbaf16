"""Complete words in a shell: read names, and run nothing."""


def suites(incomplete: str) -> list[str]:
    """Return suites and folders of suites."""
    from sampler_parity.harness.suite.ids import shipped

    folders = {suite.partition("/")[0] for suite in shipped()}
    return [name for name in (*sorted(folders), *shipped()) if name.startswith(incomplete)]


def backends(incomplete: str) -> list[str]:
    return [name for name in backend_names() if name.startswith(incomplete)]


def backend_names() -> list[str]:
    """Return engines and registered builds of llama.cpp."""
    from sampler_parity.harness.backends.engines import ENGINES
    from sampler_parity.harness.llama_cpp.recorded import builds_folder

    builds = sorted(path.parent.name for path in builds_folder().glob("*/build.json"))
    return [*ENGINES, *(f"llama.cpp@{name}" for name in builds)]
