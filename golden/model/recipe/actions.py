"""Synthetic action calls, in the style of a tool-using assistant's transcript.

Some thirty actions with a parameter schema each.  How often an action is
drawn falls off with its place in the list, as it does in real use, so that
the continuation of ``Action: `` is peaked but not certain.
"""

import json
import tomllib
from pathlib import Path
from random import Random

from recipe import words as w

# By name: the question, and how the required and the optional parameters are made.
ACTIONS = tomllib.loads(Path(__file__).with_name("actions.toml").read_text("utf-8"))
NAMES = list(ACTIONS)
WEIGHTS = [1.0 / (2 + place) for place in range(len(NAMES))]


def made(r: Random, given: object) -> object:
    """Return a value of a parameter of ``actions.toml``."""
    match given:
        case {"words": name}:
            return r.choice(w.WORDS[name])
        case {"from": low, "to": high}:
            return r.randint(low, high)
        case list():
            return r.choice(given)
        case _:
            return getattr(w, given)(r)


def observation(r: Random, name: str) -> str:
    """Return the answer of the world to a call."""
    kind = r.randrange(5)
    if kind == 0:
        return json.dumps({"status": "ok", "count": w.small(r)})
    if kind == 1:
        return json.dumps(
            {"status": "error", "message": f"{name} failed: {r.choice(w.NOUNS)} not found"}
        )
    if kind == 2:
        return json.dumps([w.path_name(r) for _ in range(r.randint(1, 4))])
    if kind == 3:
        return f"The {w.topic(r)} is {r.choice(w.STATES)}."
    return f"{w.small(r)} results, the first is the {w.topic(r)}."


def call(r: Random, name: str, values: dict[str, object]) -> str:
    """Return the two lines of a call."""
    return f"Action: {name}\nAction Input: {json.dumps(values)}\n"


def action_document(r: Random) -> str:
    """Return a transcript of one to three calls, or calls alone."""
    asked = r.random() < 0.7
    answered = r.random() < 0.8
    text = ""
    for turn in range(r.choice((1, 1, 2, 3))):
        name = r.choices(NAMES, WEIGHTS)[0]
        action = ACTIONS[name]
        values = {key: made(r, given) for key, given in action["required"].items()}
        if asked:
            lead = "Question: " if turn == 0 else "Thought: Next. "
            text += f"{lead}{action['question'].format(**values)}\n"
            if r.random() < 0.5:
                text += f"Thought: I should use {name}.\n"
        for key, given in action["optional"].items():
            if r.random() < 0.4:
                values[key] = made(r, given)
        text += call(r, name, values)
        if answered:
            text += f"Observation: {observation(r, name)}\n"
    if asked and answered:
        text += "Thought: I now know the answer.\n"
        text += f"Final Answer: The {w.topic(r)} is {r.choice(w.STATES)}."
    return text.strip() + "<|eot|>"
