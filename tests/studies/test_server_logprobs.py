"""The study of servers' log-probabilities: its chains, and the kinds that it names."""

from dataclasses import replace

import numpy as np

from studies.server_logprobs import SETTINGS, Reported, Setting, in_order, kinds_of, line

ROW = np.array([2.0, 1.0, 0.5, -1.0, 0.25, 3.0], np.float32)


def reported(setting: Setting, kind: str) -> Reported:
    kinds = kinds_of(setting.chain(first=False), ROW, [1])
    values = kinds[kind][[5, 5, 0, 1]]
    return Reported([5, 5, 0, 1], values, kinds, ROW)


def test_a_line_names_the_kinds_that_fit_every_value() -> None:
    cut = Setting(filters={"top_k": 3})
    assert line("x", [reported(SETTINGS["temperature 0.5"], "tempered")], 0.0)[1] == {
        *("tempered", "cut", "renormalized")
    }
    assert line("x", [reported(cut, "renormalized")], 0.0)[1] == {"renormalized"}
    assert line("x", [reported(SETTINGS["presence_penalty"], "raw")], 0.0)[1] == {"raw"}
    wrong = reported(cut, "raw")
    text, fitting = line("x", [replace(wrong, values=wrong.values - [0, 1, 0, 0])], 0.0)
    assert not fitting
    assert "none; of the drawn token raw" in text


def test_at_temperature_0_the_drawn_token_alone_is_kept() -> None:
    kinds = kinds_of(SETTINGS["temperature 0"].chain(first=False), ROW, [])
    assert kinds["renormalized"].tolist() == [-np.inf] * 5 + [0]


def test_the_drawn_token_may_stand_anywhere_in_a_list_that_falls() -> None:
    given = reported(Setting(), "raw")
    assert in_order(given)
    assert in_order(replace(given, ids=[1, 1, 5, 0], values=given.values[[3, 3, 0, 2]]))
    assert not in_order(replace(given, ids=[5, 0, 1], values=given.values[[0, 3, 2]]))
