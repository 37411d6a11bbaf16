"""Random settings: a chain, or one line with file, problem and fix."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.programs.settings.answer import lines
from sampler_parity.programs.settings.carry import carried
from sampler_parity.programs.settings.chain import answer_of, chain_spec
from sampler_parity.programs.settings.facts import facts
from sampler_parity.programs.settings.files import read_source
from sampler_parity.programs.upgrade.settings import UserSettings
from tests.support.examples import examples

FOLDER = Path(mkdtemp())
LLAMA = facts()["llama"]
ENGINES = facts()["engines"].values()
NAMES = [
    *LLAMA["parameters"],
    *facts()["of_other_programs"],
    *LLAMA["request"]["fields"],
    "options",
    "topk",
]
NAMES += [name for row in ENGINES for name in (*row["parameters"], *row["signs"])]
FLAGS = [flag for row in LLAMA["parameters"].values() for flag in row.get("flags", ())]
WORDS = [
    *FLAGS,
    *LLAMA["samplers"],
    "PARAMETER",
    "FROM",
    "temperature",
    "\n",
    "0.5",
    "-1",
    "5+1",
    "'",
]
RELEASES = ["b3889", "b4291", "b4753", "b7347", "b8390", "b9842", "v0.5.0", "b4300", "b11549", "b1"]
TARGETS = [*facts()["engines"], "llama-server", "b3889", "b4753", "b8390"]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
usual = st.sampled_from([0, 1, -1, 0.5, 2, 1e39, 2**31, 2**40, "top_k", "dkpt", [], {}, [[5, 1.5]]])
nested = st.recursive(
    usual | scalars | st.sampled_from([*LLAMA["samplers"]]),
    lambda item: (
        st.lists(item, max_size=4) | st.dictionaries(st.text(max_size=4), item, max_size=3)
    ),
    max_leaves=6,
)
tables = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=6), nested, max_size=8)
props = tables.map(lambda table: {"default_generation_settings": {"params": table}})
requests = tables | props | tables.map(lambda table: {"options": table}) | nested
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=9).map(" ".join)
yaml = tables.map(lambda table: "\n".join(f"{name}: {json.dumps(table[name])}" for name in table))
contents = (
    requests.map(json.dumps)
    | yaml
    | texts
    | st.binary(max_size=20).map(lambda b: b.decode("latin"))
)


def read_by_all(path: Path, release: str, engine: str) -> None:
    answer = answer_of([read_source(path, release)], release)
    for shown in (answer, carried(answer, engine)):
        assert all("\n" not in line for line in lines(shown))
    chain_spec(answer, read_vocab(vocab_path("bpe")))


@settings(max_examples=10_000 if examples(3) == 3 else 200, deadline=None)
@given(content=contents, release=st.sampled_from(RELEASES), engine=st.sampled_from(TARGETS))
def test_random_settings_become_a_chain_or_one_line_with_a_fix(
    content: str, release: str, engine: str
) -> None:
    path = FOLDER / "settings.json"
    path.write_text(content, encoding="utf-8")
    upgrade = UserSettings(path).chain
    for read in (lambda: read_by_all(path, release, engine), lambda: upgrade("reference@b4753")):
        with suppress(InputError), one_line_with_a_fix():
            read()


@contextmanager
def one_line_with_a_fix() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if not all(error.args) or "\n" in str(error):
            raise AssertionError(error.args) from error
        raise
