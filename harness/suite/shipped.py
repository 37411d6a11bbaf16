"""The suites that come with the package, by name: GROUP/NAME.toml in suites/ or engines/*/suites/.

Reads no file, so that completion in a shell is fast.
"""

from importlib.resources import files
from pathlib import Path

from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.suite.ids import fits, has_jokers


def suites_folder() -> Path:
    """The folder `suites/` of the checkout or of the installed wheel."""
    return Path(str(files("sampler_parity.suites")))


def suite_id(path: Path) -> str:
    """ "parity/top_p" for suites/parity/top_p.toml."""
    return f"{path.resolve().parent.name}/{path.stem}"


def shipped() -> dict[str, Path]:
    """Return the file of each suite of ours and of the engines, in the order of their names."""
    paths = [*suites_folder().glob("*/*.toml"), *engines_folder().glob("*/suites/*/*.toml")]
    return dict(sorted((suite_id(path), path) for path in paths))


def suites_of_cases(patterns: list[str]) -> list[str]:
    """Those that patterns of ids name by their first part; none where one of them names none."""
    named = [
        suites_of(pattern) if _first(pattern) and not has_jokers(_first(pattern)) else []
        for pattern in patterns
    ]
    if not all(named):
        return []
    return list(dict.fromkeys(suite for suites in named for suite in suites))


def suites_of(pattern: str) -> list[str]:
    """The suites whose cases a pattern of ids can be about: an id begins with the name of its
    suite's file, that of a timed chain with `timing`; only such a chain's is ever one word."""
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
