"""Load the fixtures of our tests. Tests of a user in a folder of the checkout need none of them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
collect_ignore = ["tests/support/toy_files"]  # files for a copy of the tree


def pytest_configure(config: pytest.Config) -> None:
    """Import the fixtures' packages only for our tests: another Python need not have them."""
    folder, ours = config.invocation_params.dir, {ROOT / "tests", ROOT / "engines"}
    paths = [(folder / argument.partition("::")[0]).resolve() for argument in config.args]
    if any(path == ROOT or ours & {path, *path.parents} for path in paths):
        config.pluginmanager.import_plugin("tests.support.fixtures")
