"""The command line of a study: its sections by name, all where none is named."""

import argparse
from collections.abc import Callable, Iterable, Mapping


def main(
    about: str,
    sections: Mapping[str, Callable[[], Iterable[str] | None]],
    arguments: list[str] | None = None,
) -> None:
    """Run sections, and print the lines that one returns. Exit status 2 for an unknown one."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    listed = "; ".join(sections)
    parser.add_argument("section", nargs="*", help=f"{listed}; default all")
    names = parser.parse_args(arguments).section
    for name in names:
        if name not in sections:
            parser.error(f"section {name!r}: unknown - use {', '.join(sections)}")
    for name in names or sections:
        print(f"{name}: {(sections[name].__doc__ or '').splitlines()[0]}", flush=True)
        for line in sections[name]() or ():
            print(f"  {line}")
