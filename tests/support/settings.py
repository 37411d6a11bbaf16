"""Files of settings and what each builds: tests/programs/settings/test_llama.toml."""

import tomllib
from pathlib import Path

from sampler_parity.programs.settings.answer import SettingsAnswer
from sampler_parity.programs.settings.chain import answer_of
from sampler_parity.programs.settings.files import read_source
from tests.support.command_line import ROOT

NEW = "v0.5.0"
_FILE = ROOT / "tests/programs/settings/test_llama.toml"
TABLE = tomllib.loads(_FILE.read_text(encoding="utf-8"))


def answer_to(folder: Path, text: str, release: str = NEW) -> SettingsAnswer:
    path = folder / "settings"
    path.write_text(text)
    return answer_of([read_source(path, release)], release)
