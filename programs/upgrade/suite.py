"""Write the chain of a file of settings as a suite, for `run --settings`."""

from pathlib import Path

from sampler_parity.harness.suite.model import case_block
from sampler_parity.programs.upgrade.cases import blocks_of
from sampler_parity.programs.upgrade.settings import UserSettings


def written_suite(path: Path) -> bytes:
    """Return the suite, as TOML, of the chain that v0.5.0 makes of settings. Raises InputError."""
    data = blocks_of(UserSettings(path).chain("reference"))
    blocks = [case_block(block, table) for table in ("matrix", "scripts") for block in data[table]]
    return "\n".join(['name = "the chain of settings"', *blocks]).encode()
