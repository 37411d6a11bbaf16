"""The workloads of `trie-bench`: sets of leaves, prompts, and the equivalent grammar.

`actions` and `enum:N` are spelled in capitals and digits. The words of `random-128256` begin with
one such character and go on in small letters, so there each leaf has one spelling, and grammar and
trie take the same tokens. With `tools` and `json` a grammar may spell a leaf otherwise.
"""

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.trie.session import payload_of
from sampler_parity.reference import ChainError
from sampler_parity.reference.trie import Payload, read_payload
from sampler_parity.reference.vocab import Vocab

# 30 actions of four letters that share a third of them.
_ACTIONS = """
    SEND SENT SEAL SHOW SHUT SKIP SORT STOP STAR PLAN PLAY PLOT POST POLL POKE
    READ REST RENT REPL MOVE MODE MAKE MARK CALL CASH CALM COPY EDIT FIND HELP
"""

# The tools that the golden model's transcripts call.
_TOOLS = """
    search_files read_file web_search write_file run_command calculate get_weather list_directory
    send_email query_database create_ticket update_ticket fetch_url translate_text create_event
    set_reminder list_events get_stock_price convert_currency get_directions summarize_document
    delete_file move_file count_words play_music set_temperature track_order book_flight
    create_branch rollback_release
"""

PROMPTS = (
    "Question: Look up the private table on the web.\nAction: ",
    "Question: What is the weather in Madrid?\nThought: I should use get_weather.\nAction: ",
    "Question: How much is 10 EUR in EUR?\nAction: ",
    "Question: Run git status for me.\nAction: ",
    "Action: write_file\nObservation: The daily account is done.\nAction: ",
    "Question: Find the files that match *.yaml.\nAction: ",
    "Thought: Next. What is 80 / 25?\nAction: ",
    "Question: What is planned for 2021-08-14?\nAction: ",
)

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_LEAVES = 10_000


def leaf_texts(workload: str) -> list[str]:
    """Return the leaves of a workload by its name. Raises InputError."""
    if workload == "actions":
        return _ACTIONS.split()
    if workload == "tools":
        return [f"{name}\n" for name in _TOOLS.split()]  # the line feed closes each
    if workload == "json":
        cities, units = ("Madrid", "Berlin", "Oslo", "Rome"), ("celsius", "fahrenheit")
        return [
            json.dumps({"city": city, "unit": unit, "days": days}, separators=(",", ":"))
            for city, unit, days in itertools.product(cities, units, (1, 2, 3))
        ]
    kind, _, number = workload.partition(":")
    if kind == "enum" and number.isdecimal() and 2 <= int(number) <= MOST_LEAVES:
        return [_in_digits(i, int(number)) for i in range(int(number))]
    fix = f"use actions, tools, json, enum:2 to enum:{MOST_LEAVES}, or the path of a JSON file"
    raise InputError(f"workload {workload!r}", "unknown", fix)


def _in_digits(i: int, n: int) -> str:
    """Format i in base 36, with as many digits as n - 1 needs."""
    width = next(w for w in itertools.count(1) if len(_DIGITS) ** w >= n)
    return "".join(_DIGITS[i // len(_DIGITS) ** k % len(_DIGITS)] for k in reversed(range(width)))


def read_descriptor(
    source: str | list[str], model_id: str, tokenize: Callable[[str], list[int]]
) -> tuple[str, Payload]:
    """Return the payload as JSON and as read, of a file, a workload's name or texts. Raises
    InputError."""
    name = source if isinstance(source, str) else "leaves"
    try:
        if isinstance(source, str) and (source.endswith(".json") or Path(source).is_file()):
            text = read_file(Path(source), limits.TEXT).decode()
        else:
            texts = leaf_texts(source) if isinstance(source, str) else source
            leaves = {leaf.strip(): tokenize(leaf) for leaf in texts}
            text = json.dumps(payload_of(model_id, name, leaves))
        return text, read_payload(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(name, f"cannot be read: {error}") from None
    except ChainError as error:
        raise InputError(name, str(error), "see docs/background/token-trie.md") from None


def text_of(tokens: Iterable[int], vocab: Vocab) -> str:
    """Return the text of tokens. Raises InputError if they are no text by themselves."""
    pieces = b"".join(vocab.piece(token) for token in tokens)
    try:
        return pieces.decode()
    except UnicodeDecodeError:
        raise InputError("leaf", f"{pieces!r} is not UTF-8, so no grammar can spell it") from None


def text_grammar(texts: Iterable[str]) -> str:
    """Return GBNF that takes these texts in any spelling."""
    return "root ::= " + " | ".join(_quoted(text) for text in texts)


def token_grammar(leaves: Iterable[tuple[int, ...]]) -> str:
    """Return GBNF that takes these tokens only."""
    return "root ::= " + " | ".join(" ".join(f"<[{t}]>" for t in leaf) for leaf in leaves)


def _quoted(text: str) -> str:
    if "\0" in text:
        raise InputError("leaf", f"{text!r} has a zero byte, so llama.cpp cannot read its grammar")
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " else f"\\x{ord(c):02X}" for c in plain) + '"'
