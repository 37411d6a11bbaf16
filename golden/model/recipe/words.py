"""The word lists and small value makers behind the synthetic documents."""

from random import Random

NOUNS = [
    "report",
    "invoice",
    "config",
    "schema",
    "index",
    "session",
    "cache",
    "token",
    "queue",
    "parser",
    "worker",
    "router",
    "client",
    "server",
    "module",
    "package",
    "release",
    "branch",
    "ticket",
    "order",
    "payment",
    "account",
    "device",
    "sensor",
    "image",
    "video",
    "playlist",
    "calendar",
    "meeting",
    "document",
    "table",
]
VERBS = [
    "update",
    "remove",
    "create",
    "review",
    "fix",
    "rename",
    "merge",
    "archive",
    "publish",
    "test",
    "schedule",
    "measure",
    "load",
    "clean",
    "restore",
    "validate",
]
ADJECTIVES = [
    "old",
    "new",
    "slow",
    "broken",
    "daily",
    "weekly",
    "public",
    "private",
    "missing",
    "large",
    "empty",
    "stale",
]
CITIES = [
    "Paris",
    "Berlin",
    "Tokyo",
    "Oslo",
    "Lima",
    "Cairo",
    "Madrid",
    "Toronto",
    "Sydney",
    "Nairobi",
    "Vienna",
    "Lisbon",
    "Dublin",
    "Seoul",
    "Prague",
    "Athens",
]
FOLDERS = ["src", "tests", "docs", "scripts", "data", "lib", "app", "build", "tools", "config"]
EXTENSIONS = [".py", ".md", ".json", ".txt", ".toml", ".c", ".h", ".csv", ".yaml", ".log"]
LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "ja", "ko"]
CURRENCIES = ["EUR", "USD", "GBP", "JPY", "CHF"]
STATES = ["open", "closed", "pending", "done", "failed", "running", "queued"]
LEVELS = ["DEBUG", "INFO", "INFO", "INFO", "WARNING", "ERROR"]
HOSTS = ["api", "db", "web", "mail", "auth", "files", "search", "metrics"]


def path_name(r: Random) -> str:
    """Return a file path such as ``src/parser.py``."""
    return f"{r.choice(FOLDERS)}/{r.choice(NOUNS)}{r.choice(EXTENSIONS)}"


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


def small(r: Random) -> int:
    """Return a count as people choose them: round ones most often."""
    return r.choice((1, 2, 3, 5, 5, 10, 10, 10, 20, 20, 50, 100))
