"""The word lists and small value makers behind the synthetic documents."""

import tomllib
from pathlib import Path
from random import Random

WORDS: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text("utf-8")
)
NOUNS, VERBS, ADJECTIVES = WORDS["nouns"], WORDS["verbs"], WORDS["adjectives"]
FOLDERS, EXTENSIONS, HOSTS = WORDS["folders"], WORDS["extensions"], WORDS["hosts"]
CURRENCIES, STATES, LEVELS = WORDS["currencies"], WORDS["states"], WORDS["levels"]


def path_name(r: Random) -> str:
    """Return a file path such as ``src/parser.py``."""
    return f"{r.choice(FOLDERS)}/{r.choice(NOUNS)}{r.choice(EXTENSIONS)}"


def glob(r: Random) -> str:
    """Return a pattern of file names such as ``*.py``."""
    return f"*{r.choice(EXTENSIONS)}"


def date(r: Random) -> str:
    """Return a date in ISO form."""
    return f"{r.randint(2019, 2026)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}"


def clock(r: Random) -> str:
    """Return a time of day on a quarter hour."""
    return f"{r.randint(7, 20):02d}:{r.choice(('00', '15', '30', '45'))}"


def topic(r: Random) -> str:
    """Return two words such as ``stale cache``."""
    return f"{r.choice(ADJECTIVES)} {r.choice(NOUNS)}"


def task(r: Random) -> str:
    """Return an order such as ``review the weekly report``."""
    return f"{r.choice(VERBS)} the {topic(r)}"


def mail(r: Random) -> str:
    """Return a mail address in a reserved domain."""
    return f"{r.choice(NOUNS)}{r.randint(1, 99)}@example.{r.choice(('com', 'org', 'net'))}"


def link(r: Random) -> str:
    """Return an address in a reserved domain."""
    return f"https://{r.choice(HOSTS)}.example.com/{r.choice(NOUNS)}/{r.randint(1, 500)}"


def identifier(r: Random) -> str:
    """Return a short identifier such as ``ord-4821``."""
    return f"{r.choice(('usr', 'ord', 'tkt', 'job', 'doc'))}-{r.randint(1000, 9999)}"


def version(r: Random) -> str:
    """Return a version such as ``1.4.2``."""
    return f"{r.randint(0, 4)}.{r.randint(0, 9)}.{r.randint(0, 9)}"


def expression(r: Random) -> str:
    """Return a small calculation such as ``12 * 7``."""
    return f"{r.randint(2, 99)} {r.choice('+-*/')} {r.randint(2, 99)}"


def small(r: Random) -> int:
    """Return a count as people choose them: round ones most often."""
    return r.choice((1, 2, 3, 5, 5, 10, 10, 10, 20, 20, 50, 100))
