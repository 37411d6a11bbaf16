"""patches.toml: the patches, and the cases that each changes."""

from pathlib import Path
from typing import Literal

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_table
from sampler_parity.harness.strict import Strict

FOLDER = Path(__file__).parent
TABLE = FOLDER / "patches.toml"
ALL = "all"
UNPATCHED = "unpatched"


class Changed(Strict):
    """cases: patterns of ids, *: anything. Every case that fits must change. why: for readers.
    decoded: whether it changes depends on the last bits of logits, which this machine decodes."""

    cases: tuple[str, ...]
    why: str
    decoded: bool = False


class Patch(Strict):
    """name: the file's, without suffix. program: the exit status of the finding's program on the
    patched library; 1 on the unpatched one. prints: texts of its output and how often each comes.
    on: the backend whose cases can change; llama.cpp's others must not."""

    name: str
    finding: int
    on: Literal["llama.cpp", "llama.cpp/graph"] = "llama.cpp"
    program: int = 0
    prints: dict[str, int] = {}
    changed: tuple[Changed, ...] = ()

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.patch"

    @property
    def patterns(self) -> list[str]:
        return [pattern for changed in self.changed for pattern in changed.cases]

    @property
    def decoded(self) -> list[str]:
        return [pattern for changed in self.changed if changed.decoded for pattern in changed.cases]

    def files(self) -> list[str]:
        """Return the files that it changes, as paths in llama.cpp."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [line.removeprefix("+++ b/") for line in lines if line.startswith("+++ b/")]


class _Patches(Strict):
    patch: tuple[Patch, ...]


def read(table: Path = TABLE) -> tuple[Patch, ...]:
    """Return the patches in the order of their findings. Raises InputError."""
    patches = read_table(table, _Patches).patch
    names = [patch.name for patch in patches]
    if names != sorted(set(names)):
        raise InputError(table, "names a patch twice, or not in order")
    return patches
