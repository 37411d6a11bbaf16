"""What a shell offers behind a word that was begun: reads names, and runs nothing."""


def suites(incomplete: str) -> list[str]:
    """Suites and folders of them."""
    from sampler_parity.harness.suite.shipped import shipped

    folders = {suite.partition("/")[0] for suite in shipped()}
    return [name for name in (*sorted(folders), *shipped()) if name.startswith(incomplete)]


def backends(incomplete: str) -> list[str]:
    return [name for name in backend_names() if name.startswith(incomplete)]


def backend_names() -> list[str]:
    """Engines, and the builds of llama.cpp that are registered."""
    from sampler_parity.harness.backends.engines import ENGINES
    from sampler_parity.harness.llama_cpp.recorded import builds_folder

    builds = sorted(path.parent.name for path in builds_folder().glob("*/build.json"))
    return [*ENGINES, *(f"llama.cpp@{name}" for name in builds)]
