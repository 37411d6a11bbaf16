"""The suites of the package, by name: GROUP/NAME.toml in suites/ or engines/*/suites/.

No file is read, so completion in a shell is fast.
"""

from importlib.resources import files
from pathlib import Path

from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.suite.ids import fits, has_jokers


def suites_folder() -> Path:
    """Return the folder `suites/` of the checkout or of the installed wheel."""
    return Path(str(files("sampler_parity.suites")))


def suite_id(path: Path) -> str:
    """Return the id of a suite: "parity/top_p" for suites/parity/top_p.toml."""
    return f"{path.resolve().parent.name}/{path.stem}"


def shipped() -> dict[str, Path]:
    """Return the file of each suite of the package and of the engines, sorted by name."""
    paths = [*suites_folder().glob("*/*.toml"), *engines_folder().glob("*/suites/*/*.toml")]
    return dict(sorted((f"{path.parent.name}/{path.stem}", path) for path in paths))


def is_shipped(path: Path) -> bool:
    """Return whether it is a suite of the package, which is found by its name from any folder."""
    there, ours = path.resolve(), suites_folder().resolve()
    folder = there.parent.parent
    engine = folder.name == "suites" and folder.parent.parent == engines_folder().resolve()
    return there.suffix == ".toml" and there.is_file() and (folder == ours or engine)


def suites_of_cases(patterns: list[str]) -> list[str]:
    """Return the suites that the patterns of ids name; none if one pattern names no suite."""
    matches = [
        suites_of(pattern) if _first(pattern) and not has_jokers(_first(pattern)) else []
        for pattern in patterns
    ]
    if not all(matches):
        return []
    return list(dict.fromkeys(suite for suites in matches for suite in suites))


def suites_of(pattern: str) -> list[str]:
    """Return the suites whose cases a pattern of ids can match. An id begins with the name of its
    suite's file, that of a timed chain with `timing`; only timed chains have ids of one word."""
    first = _first(pattern)
    if not first:
        anywhere = has_jokers(pattern)
        return [suite for suite in shipped() if anywhere or suite.startswith("timing/")]
    return [
        suite
        for suite, path in shipped().items()
        if fits(path.stem, first) or (suite.startswith("timing/") and fits("timing", first))
    ]


def _first(pattern: str) -> str:
    first, slash, _ = pattern.partition("/")
    return first if slash else ""
