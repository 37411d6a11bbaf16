"""A toy sampler, a toy engine, and a copy of the tree to which they are added.

Each place of SAMPLER and ENGINE is a file of the copy, SAMPLER_ROW goes into a list. The sampler's
name begins like others, so that a selection by prefix selects it, too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TSAMPLER = "engines/tsampler"

SAMPLER = {
    "reference/samplers/top_even.py": '''"""top_even: removes the tokens with an odd id.

Parameters: none.
Ties: none, the logits are not compared.
Edges: without a token with an even id, no candidate is left.
Source: this test.
Suite: suites/parity/top_even.toml
"""

import numpy as np

from sampler_parity.reference.candidates import Candidates


class TopEven:
    name = "top_even"

    def apply(self, cand: Candidates) -> None:
        cand.keep(np.flatnonzero(cand.ids % 2 == 0))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TopEven":
        return TopEven()
''',
    "suites/parity/top_even.toml": """name = "top_even keeps the tokens with an even id"
sampler = "top_even"

[[case]]
id = "odd-ids-go"
description = "Of four tokens the first and the third stay"
why = "The position taken for the id."
chain = [{ top_even = {} }]
logits = { values = [1.0, 2.0, 0.0, 3.0] }
expect = { ids = [0, 2] }
""",
}

# "To show that it is right".
SAMPLER_SHOWN = {
    "harness/faults/top_even.toml": """# top_even, wrong in one way each.

[[fault]]
name = "top_even/odd"
fault = "The odd ids stay."
replace = "% 2 == 0"
with = "% 2 == 1"

[[fault]]
name = "top_even/all"
fault = "Nothing is removed."
replace = "cand.keep(np.flatnonzero(cand.ids % 2 == 0))"
with = "pass"

[[fault]]
name = "top_even/half"
fault = "The first half stays."
replace = "np.flatnonzero(cand.ids % 2 == 0)"
with = "slice(len(cand) // 2)"
""",
    "tests/reference/test_top_even.py": '''"""top_even: the ids decide, not the positions."""

from tests.support.applied import applied


def test_top_even_goes_by_the_id() -> None:
    assert applied("top_even", {}, [5.0, 7.0, 6.0, 8.0, 1.0]).ids.tolist() == [0, 2, 4]
''',
    # `python -m scripts.reference` writes it, but makes the pages of all samplers for that.
    "docs/reference/samplers/top_even.md": "# top_even\n",
}

REGISTRY = "reference/registry.py"
# For each line of the registry, the new lines before it.
SAMPLER_ROW = {
    "from sampler_parity.reference.samplers.top_k": (
        "from sampler_parity.reference.samplers.top_even import TopEven\n"
    ),
    '    "softmax": Row(': (
        '    "top_even": Row(TopEven, {}, edges={}, ranges={}, kind="filter", sizes=_CANDIDATES),\n'
    ),
}

ENGINE = {
    "engines/toy/__init__.py": '"""toy: see README.md."""\n',
    "engines/toy/engine.toml": """model_suites = ["toy"]

[[backend]]
name = "toy"
what = "draws from the softmax with NumPy's generator"
suites = ["toy", "properties"]
draws = ["draws/toy"]
in_make_engines = true

[[sampler]]
name = "toy_draw"
smallest = { seed = 1 }
""",
    "engines/toy/worker.py": '''"""toy: one stage, toy_draw, in NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.staged import Staged
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits.copy()
        self.p = np.zeros_like(logits)
        self.token = -1


class Stage:
    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        if name != "toy_draw":
            raise Unsupported(f"toy has no {name}")
        self.seed: int = parameters["seed"]
        self.reset()

    def reset(self) -> None:
        self.rng = np.random.RandomState(self.seed)

    def p(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        weights = np.exp(logits.astype(np.float64) - logits.max())
        return np.asarray(weights / weights.sum())

    def apply(self, row: Row, tokens: list[int], n_prompt: int) -> None:
        p = self.p(row.logits)
        row.p = p.astype(np.float32)
        row.token = int(self.rng.choice(len(p), p=p))

    def draws(self, row: Row, n: int) -> list[int]:
        p = self.p(row.logits)
        return [int(self.rng.choice(len(p), p=p)) for _ in range(n)]

    def draw_as(self, other: "Stage") -> None:
        self.rng.set_state(other.rng.get_state())


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name="toy", version="1", capabilities=["run", "draws"], samplers=["toy_draw"]
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Staged:
        return Staged(chain, Stage, "toy")

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        return np.arange(len(row.p)), row.logits, row.p, None, row.token
''',
    "engines/toy/model.py": '''"""toy_draw: draws from the softmax with np.random.RandomState."""

from typing import Any

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.parameters import uint32


class ToyDraw:
    name = "toy_draw"

    def __init__(self, seed: Any) -> None:
        self.seed = uint32("seed", seed)
        self.reset()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if len(cand) == 0:
            raise UndefinedInputError("no candidate: NumPy has no largest of none")
        logits = cand.logits.astype(np.float64)
        weights = np.exp(logits - logits.max())
        p = weights / weights.sum()
        if np.isnan(p).any():
            raise UndefinedInputError("probabilities contain NaN: NumPy refuses")
        cand.p = p.astype(cand.logits.dtype)
        cand.selected = self.drawn(p)

    def drawn(self, p: Any) -> int:
        return int(self.rng.choice(len(p), p=p))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.rng = np.random.RandomState(self.seed)

    def clone(self) -> "ToyDraw":
        twin = type(self)(self.seed)
        twin.rng.set_state(self.rng.get_state())
        return twin


STAGES = {"toy_draw": ToyDraw}
''',
    "engines/toy/worker_faults.toml": """[[fault]]
name = "toy/flat"
fault = "All tokens are equally likely."
at = "toy_draw"
case = "toy/p-by-hand"
replace = "weights = np.exp(logits.astype(np.float64) - logits.max())"
with = "weights = np.ones(len(logits))"

[[fault]]
name = "toy/seed-ignored"
fault = "Every instance has the same random numbers."
at = "toy_draw"
case = "toy/eight-steps"
replace = "np.random.RandomState(self.seed)"
with = "np.random.RandomState(0)"

[[fault]]
name = "toy/likeliest"
fault = "The likeliest token is drawn."
at = "toy_draw"
case = "toy/eight-steps"
replace = "row.token = int(self.rng.choice(len(p), p=p))"
with = "row.token = int(p.argmax())"
""",
    "engines/toy/model_faults.toml": """[[fault]]
name = "toy_draw/seed-ignored"
fault = "Every instance has the same random numbers."
case = "toy/eight-steps"
replace = "np.random.RandomState(self.seed)"
with = "np.random.RandomState(0)"

[[fault]]
name = "toy_draw/likeliest"
fault = "The likeliest token is drawn."
case = "toy/eight-steps"
replace = "int(self.rng.choice(len(p), p=p))"
with = "int(np.argmax(p))"

[[fault]]
name = "toy_draw/last"
fault = "The last token is drawn."
case = "toy/eight-steps"
replace = "int(self.rng.choice(len(p), p=p))"
with = "len(p) - 1"
""",
    "engines/toy/suites/toy/toy.toml": """name = "toy on its one sampler"

[[case]]
id = "p-by-hand"
description = "The probabilities are the softmax of the logits"
why = "An engine that draws from something else."
chain = [{ toy_draw = { seed = 1 } }]
logits = { probs = [0.5, 0.25, 0.25] }
expect = { probs = [0.5, 0.25, 0.25] }

[[case]]
id = "eight-steps"
description = "Eight draws from four equal tokens are those of the seed"
why = "A generator that is seeded otherwise, or not asked."
chain = [{ toy_draw = { seed = 7 } }]
logits = { values = [0.0, 0.0, 0.0, 0.0] }
steps = 8
""",
    "engines/toy/suites/draws/toy.toml": """name = "toy draws from the softmax"

[[frequency]]
id = "choice-V32"
description = "np.random.choice draws 32 tokens as often as their p"
why = "A generator that is seeded anew at every draw."
chain = [{ toy_draw = { seed = 1 } }]
law = [{ dist = { seed = 1 } }]
logits = { family = "normal", n = 32, seed = 1 }
margin = 0.03
""",
    "engines/toy/README.md": """# toy

Engine `toy` draws a token from the softmax of a row with NumPy's generator.

    sampler-parity run toy -b toy
    sampler-parity run draws/toy -b toy

Not timed apart: it is NumPy's generator. None was found that differs from its description.
""",
    "engines/toy/test_toy.py": '''"""toy: what it has not."""


import pytest

from sampler_parity.engines.toy.worker import Stage
from sampler_parity.harness.errors import Unsupported


def test_toy_has_one_stage() -> None:
    with pytest.raises(Unsupported, match="toy has no top_k"):
        Stage("top_k", {"k": 2})
''',
}
TOYS = SAMPLER | SAMPLER_SHOWN | ENGINE


def copied(copy: Path) -> Path:
    """Copy git's files, the links of sampler_parity/ among them, and tsampler's build.

    The copies keep their times, and the code that Python and Numba compiled comes along: compiling
    it again took half of the time of these tests.
    """
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [*filter(None, listed.stdout.split("\0"))]
    for name in names:
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    for compiled in {(ROOT / name).parent / "__pycache__" for name in names}:
        if compiled.is_dir():
            shutil.copytree(compiled, copy / compiled.relative_to(ROOT))
    if (ROOT / TSAMPLER / "dist").is_dir():
        shutil.copytree(ROOT / TSAMPLER / "dist", copy / TSAMPLER / "dist")
        (copy / TSAMPLER / "node_modules").symlink_to((ROOT / TSAMPLER / "node_modules").resolve())
    return copy


def add_toys(copy: Path) -> None:
    """Add the places of both pages, and the index that is generated."""
    for path, text in TOYS.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text, encoding="utf-8")
    (copy / REGISTRY).write_text(with_row((copy / REGISTRY).read_text("utf-8")), "utf-8")
    done = python(copy, "-m", "scripts.engines_index")
    assert done.returncode == 0, done.stderr
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        subprocess.run(command, cwd=copy, check=True)


def with_row(registry: str) -> str:
    """Return the registry with the toy sampler's row and its import."""
    for before, lines in SAMPLER_ROW.items():
        assert registry.count(before) == 1, before
        registry = registry.replace(before, lines + before)
    return registry


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, with its modules."""
    alone = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    environment = {**alone, "PYTHONPATH": str(copy)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True
    )
