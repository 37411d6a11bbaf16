"""`settings --to`: the nearest chain of another engine (programs/settings/carry.py)."""

import json
from pathlib import Path

import pytest

from sampler_parity.programs.settings.answer import SettingsAnswer
from sampler_parity.programs.settings.carry import carried
from sampler_parity.programs.settings.facts import LLAMA
from tests.support.command_line import cli, refused
from tests.support.settings import NEW, TABLE, answer_to

OTHER_NAMES = {  # no request or preset has these values by such a name
    "top_n_sigma as a flag of b4753",
    "text-generation-webui: a dynamic temperature",
    "text-generation-webui: the range of both penalties, and breakers without brackets",
}


def lost(answer: SettingsAnswer) -> list[str]:
    return [f"{note.name}: {note.text}" for note in answer.notes if note.kind == "lost"]


def acting(answer: SettingsAnswer) -> list[str]:
    """Return the stages that do something, but for those that only sort; greedy is one alone."""
    stages = [stage for stage in answer.stages if not stage.idle and stage.sampler != "softmax"]
    greedy = any(s.sampler == "greedy" or s.at("temp") in (0, -1) for s in stages)
    draw = {"adaptive_p": "dist"}  # it has no target in any row
    return ["greedy"] if greedy else [draw.get(s.sampler, s.sampler) for s in stages]


@pytest.mark.parametrize("name", [name for name in TABLE["chain"] if name not in OTHER_NAMES])
def test_nothing_is_lost_on_the_way_to_the_same_engine(tmp_path: Path, name: str) -> None:
    row = TABLE["chain"][name]
    answer = answer_to(tmp_path, row["text"], row.get("release", NEW))
    own = f"{LLAMA}@{answer.release}" if answer.engine == LLAMA else answer.engine
    there = carried(answer, own)
    assert lost(there) == []
    assert acting(there) == acting(answer)


@pytest.mark.parametrize("name", TABLE["carry"])
def test_the_nearest_chain_of_another_engine(tmp_path: Path, name: str) -> None:
    row = TABLE["carry"][name]
    there = carried(answer_to(tmp_path, row["text"]), row["to"])
    assert there.request == json.loads(row["request"])
    assert lost(there) == row.get("lost", [])


def test_the_command_prints_what_is_lost_and_the_request(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"samplers": ["top_k"], "top_k": 5, "seed": 3}')
    done = cli("settings", "a.json", "--to", "openai", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-2:] == [
        "lost     top_k: openai has no such stage here; it was top_k 5",
        'request  {"seed": 3}',
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [("vlm", "did you mean vllm"), ("b1x", "b1x"), ("ollama@1", "no such engine")],
)
def test_an_unknown_engine_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert message in refused(cli("settings", "a.json", "--to", name, folder=tmp_path))
