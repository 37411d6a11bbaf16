"""The command `backends`."""

from sampler_parity.harness.cli.output import print_line


def backends() -> None:
    """List what is configured, what runs here, and why the rest does not.

    Exit status: 0.
    """
    from sampler_parity.harness.backends import registry
    from sampler_parity.harness.backends.engines import ENGINES
    from sampler_parity.harness.llama_cpp.builds import describe

    for name, engine in ENGINES.items():
        info = registry.inspect(name)
        if info.unavailable:
            print_line(f"{name:<18} unavailable: {info.unavailable}")
        else:
            print_line(f"{name:<18} {info.version}: {engine.what}")
    for line in describe():
        print_line(f"llama.cpp@{line}" if not line.startswith(" ") else line)
